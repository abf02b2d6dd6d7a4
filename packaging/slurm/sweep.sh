#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# A sweep of simulations, or an experiment, as a Slurm array: each task does a part.
#
#   sbatch --array=1-16 sweep.sh FOLDER simulate mixed.toml --seeds 1000 --keep FOLDER/kept
#   sbatch --array=1-16 sweep.sh FOLDER lab experiment table1.toml
#
# FOLDER is on a disk that all nodes share. Task 3 writes FOLDER/part-3, whole or not at all. What
# is killed or requeued goes on. All parts, in any order, are the whole to the byte:
#
#   artis simulate --merge FOLDER/part-*
#   artis lab experiment table1.toml --json table1.json --merge FOLDER/part-*
#
#SBATCH --job-name=artis-sweep
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --requeue
#SBATCH --open-mode=append
set -eu

[ $# -ge 2 ] || {
    echo 'sweep.sh: give a folder and what artis shall do: sweep.sh FOLDER simulate mixed.toml' >&2
    exit 64
}
: "${SLURM_ARRAY_TASK_ID:?is not set; submit this with sbatch --array=1-16}"
folder=$1
shift
mkdir -p "$folder"
part=$folder/part-$SLURM_ARRAY_TASK_ID
# SHARDS: of how many parts, where only some of them are submitted again.
"${ARTIS:-artis}" "$@" --shard "$SLURM_ARRAY_TASK_ID/${SHARDS:-$SLURM_ARRAY_TASK_COUNT}" >"$part.unfinished"
mv "$part.unfinished" "$part"
