#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#SBATCH --job-name=fx8-join
#SBATCH --ntasks=1
#SBATCH --time=01:00:00
#SBATCH --output=fx8-%j.log
#
# Join the results of channels.sh:  sbatch join.sh RESULTS ALL.uvh5
"${FX8:-fx8}" join "$1"/*.uvh5 -o "$2"
