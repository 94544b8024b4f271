#!/usr/bin/env bash
# Makes .venv with everything Penstock needs, and sees to Java. Safe to run again; `make setup` skips it when
# neither pyproject.toml nor constraints.txt changed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/apt.sh

JAVA_MIN=17

fail() {
  printf 'penstock: %s\n' "$@" >&2
  exit 1
}

new_enough() {
  "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

can_make_venv() {
  "$1" -c 'import ensurepip, venv' >/dev/null 2>&1
}

# The first Python 3.11+ that can make a virtual environment, else the first one at all. Each is run and not only
# looked up: a version manager's shim may be on the PATH and still fail.
find_python() {
  local name first=""
  for name in python3.13 python3.12 python3.11 python3; do
    new_enough "$name" || continue
    if can_make_venv "$name"; then
      echo "$name"
      return
    fi
    first=${first:-$name}
  done
  echo "$first"
}

make_venv() {
  if [ -x .venv/bin/python ] && new_enough .venv/bin/python && .venv/bin/python -m pip --version >/dev/null 2>&1; then
    return
  fi
  local python version
  python=$(find_python)
  [ -n "$python" ] || fail "Python 3.11 or newer not found (tried python3.13, python3.12, python3.11, python3)." \
    "Install one, e.g. 'sudo apt-get install python3.11 python3.11-venv', and run 'make setup' again."
  version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  if ! can_make_venv "$python"; then
    apt_install "python$version-venv" || true
    can_make_venv "$python" || fail "Python $version has no venv module." \
      "Run 'sudo apt-get install python$version-venv', then 'make setup' again."
  fi
  echo "penstock: making .venv with Python $version (a few seconds)"
  "$python" -m venv --clear .venv
}

# The major version of the Java that Spark would run: JAVA_HOME's if set, else the PATH's; 0 for none.
java_major() {
  local java=java line
  if [ -n "${JAVA_HOME:-}" ]; then java=$JAVA_HOME/bin/java; fi
  line=$("$java" -version 2>&1 | grep -m1 'version "') || { echo 0; return; }
  # Java 8 and before call themselves 1.8: for them this gives 1, which is too old all the same.
  [[ $line =~ version\ \"([0-9]+) ]] && echo "${BASH_REMATCH[1]}" || echo 0
}

check_java() {
  [ "$(java_major)" -ge "$JAVA_MIN" ] && return
  [ -z "${JAVA_HOME:-}" ] || fail "JAVA_HOME=$JAVA_HOME has no Java $JAVA_MIN or newer, and Spark would use it." \
    "Point JAVA_HOME to a newer Java, or unset it, and run 'make setup' again."
  # Debian 13 has no openjdk-17 any more; Spark runs on 21 as well.
  apt_install openjdk-17-jre-headless || apt_install openjdk-21-jre-headless || true
  [ "$(java_major)" -ge "$JAVA_MIN" ] || fail "Spark needs Java $JAVA_MIN or newer, and none was found." \
    "Run 'sudo apt-get install openjdk-17-jre-headless', or set JAVA_HOME, then 'make setup' again."
}

install_packages() {
  echo "penstock: installing Python packages (about 2 minutes the first time, seconds after that)"
  local log=.venv/setup.log
  # The distribution was called `penstock` before, and would stay beside the one of today with its entry points.
  .venv/bin/python -m pip uninstall --quiet --disable-pip-version-check --yes penstock >/dev/null 2>&1 || true
  PYTHONUNBUFFERED=1 .venv/bin/python -m pip install --disable-pip-version-check --no-input --progress-bar off \
    -c constraints.txt -e '.[spark,report,kafka,metrics,suite,dev]' 2>&1 | tee "$log" |
    sed -nuE 's/^(Collecting|Building wheel for|Installing collected packages)[: ]+([^ ,(]+).*/  \1 \2/p' || {
    tail -n 20 "$log" >&2
    fail "pip could not install the packages; its whole output is in $log."
  }
}

make_venv
check_java
install_packages
echo "penstock: ready. 'make help' lists what there is to run."
