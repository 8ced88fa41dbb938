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
#SBATCH --output=fx8-%j.log
#
# One process with all cores that the job gets:
#
#   sbatch one_node.sh CONFIG.ini RESULT.uvh5 RECORDING...
#
# Slurm sends SIGUSR1 to fx8 120 s before the time limit; give it more if a dump
# takes longer.  fx8 then finishes its dump and ends with 75, the job queues
# again, and --resume goes on with what RESULT.uvh5.part holds.
#
# FX8_NODE=NODE.json, written on such a node by `fx8 plan --write-machine`: the
# log begins with the time that the run will take.
config=$1 result=$2
shift 2

[ -z "$FX8_NODE" ] || "${FX8:-fx8}" plan "$config" "$@" --machine "$FX8_NODE" \
    --cores "$SLURM_CPUS_PER_TASK" --nodes "$SLURM_JOB_NUM_NODES"

export SRUN_CPUS_PER_TASK="$SLURM_CPUS_PER_TASK"
srun "${FX8:-fx8}" correlate "$config" "$@" -o "$result" --resume
status=$?
[ $status != 75 ] || scontrol requeue "$SLURM_JOB_ID"
exit $status
