#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#SBATCH --job-name=fx8
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --gpus-per-node=4
#SBATCH --cpus-per-task=8
#SBATCH --time=01:00:00
#SBATCH --signal=USR1@120
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=fx8-%j.log
#
# One rank per GPU: the ranks of a node share its GPUs among themselves.
#
#   sbatch gpu_nodes.sh CONFIG.ini RESULT.uvh5 RECORDING...
#
# Time limit, queueing again and --resume: see one_node.sh.
config=$1 result=$2
shift 2

export SRUN_CPUS_PER_TASK="$SLURM_CPUS_PER_TASK"
srun --mpi="${FX8_MPI:-pmix}" \
    "${FX8:-fx8}" correlate "$config" "$@" -o "$result" --mpi --resume \
    --set correlator.backend=cuda
status=$?
[ $status != 75 ] || scontrol requeue "$SLURM_JOB_ID"
exit $status
