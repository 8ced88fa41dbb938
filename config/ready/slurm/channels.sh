#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#SBATCH --job-name=fx8
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=16
#SBATCH --time=04:00:00
#SBATCH --signal=USR1@120
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=fx8-%A-%a.log
#
# A station recorded as one folder of files per coarse channel: one task of the
# job array for each folder, and join.sh after them.
#
#   array=$(sbatch --parsable --array=0-2 channels.sh \
#       CONFIG.ini RESULTS channel_204 channel_205 channel_206)
#   sbatch --dependency=afterok:$array join.sh RESULTS ALL.uvh5
#
# Time limit, queueing again and --resume: see one_node.sh.
config=$1 results=$2
shift $((2 + SLURM_ARRAY_TASK_ID))
set=$1

mkdir -p "$results"
export SRUN_CPUS_PER_TASK="$SLURM_CPUS_PER_TASK"
srun "${FX8:-fx8}" correlate "$config" "$set"/*.h* \
    -o "$results/$(basename "$set").uvh5" --resume
status=$?
[ $status != 75 ] ||
    scontrol requeue "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"
exit $status
