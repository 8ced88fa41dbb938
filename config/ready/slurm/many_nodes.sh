#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#SBATCH --job-name=fx8
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --time=04:00:00
#SBATCH --signal=USR1@120
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=fx8-%j.log
#
# One rank per node, which takes a share of the dumps; recording and result are
# on a file system that all nodes see:
#
#   sbatch many_nodes.sh CONFIG.ini RESULT.uvh5 RECORDING...
#
# Time limit, queueing again, --resume and FX8_NODE: see one_node.sh.  Other
# kinds of MPI than PMIx: `srun --mpi=list`.
config=$1 result=$2
shift 2

[ -z "$FX8_NODE" ] || "${FX8:-fx8}" plan "$config" "$@" --machine "$FX8_NODE" \
    --cores "$SLURM_CPUS_PER_TASK" --nodes "$SLURM_JOB_NUM_NODES"

export SRUN_CPUS_PER_TASK="$SLURM_CPUS_PER_TASK"
srun --mpi="${FX8_MPI:-pmix}" \
    "${FX8:-fx8}" correlate "$config" "$@" -o "$result" --mpi --resume
status=$?
[ $status != 75 ] || scontrol requeue "$SLURM_JOB_ID"
exit $status
