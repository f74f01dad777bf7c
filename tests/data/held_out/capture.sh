#!/usr/bin/env bash
# Usage: capture.sh SET FOLDER JOBS [NAME.KIND…]   where nsys and ncu are on PATH
# Captures programs of SET into FOLDER: NAME.nsys.sqlite, NAME.torch.json.gz, NAME.ncu-rep, NAME.pickle;
# NAME.bare.log has the step of an unprofiled run. JOBS programs start side by side and take turns on the
# GPU. A capture that is there already is not made again.
set -u
here=$(cd "$(dirname "$0")" && pwd)
set_=$1 folder=$2 jobs=$3
shift 3
mkdir -p "$folder"
export PYTHONPATH=$here GPU_TURN=$folder/turn HELD_OUT_SET=$here/$set_ HELD_OUT_FOLDER=$folder

of_one() {
    name=${1%.*} kind=${1##*.}
    program=$HELD_OUT_SET/$name.py to=$HELD_OUT_FOLDER/$name python=${PYTHON:-python3}
    begun=$SECONDS
    case $kind in
        nsys)
            [ -e "$to.nsys.sqlite" ] && return
            PROFILE=cuda nsys profile -t cuda,nvtx,osrt,cublas --cuda-graph-trace=node -c cudaProfilerApi \
                --capture-range-end=stop --export=sqlite -o "$to.nsys" "$python" "$program"
            rm -f "$to.nsys.nsys-rep" ;;
        torch)
            [ -e "$to.torch.json.gz" ] && return
            TRACE_FILE=$to.torch.json "$python" "$program" && gzip -3 "$to.torch.json" ;;
        ncu)
            [ -e "$to.ncu-rep" ] && return
            PROFILE=cuda ncu --set full --clock-control none --profile-from-start off \
                -k "regex:^($(kernels "$program"))" -c 1 -o "$to" "$python" "$program" ;;
        bare) # how long a step takes without a profiler, in the log
            "$python" "$program" ;;
        memory)
            [ -e "$to.pickle" ] && return
            SNAPSHOT=$to.pickle "$python" "$program" ;;
    esac >"$to.$kind.log" 2>&1
    echo "$1: exit $?, $((SECONDS - begun)) s"
}

kernels() { # of a program, as alternatives of a regular expression
    sed -nE 's/.*__global__.* ([a-z0-9_]+)\(.*/\1/p; /^@triton\.jit/{n;s/^def ([a-z0-9_]+).*/\1/p}' "$1" | paste -sd'|'
}

kind_of() { # a program, by the set's labels
    "${PYTHON:-python3}" -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]]["kind"])' \
        "$HELD_OUT_SET/labels.json" "$1"
}

export -f of_one kernels
if [ $# -eq 0 ]; then
    for program in "$HELD_OUT_SET"/[a-z][0-9]*.py; do
        name=$(basename "$program" .py)
        case $(kind_of "$name") in
            timeline) set -- "$@" "$name.nsys" "$name.torch" "$name.bare" ;;
            kernel) set -- "$@" "$name.ncu" ;;
            *) set -- "$@" "$name.memory" ;;
        esac
    done
fi
printf '%s\n' "$@" | xargs -P "$jobs" -I{} bash -c 'of_one {}'
