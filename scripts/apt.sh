# Sourced. Installs Debian packages where that is possible without asking anybody for a password.

# apt_install PACKAGE...: 0 when installed, 1 when this machine or this user cannot.
apt_install() {
  command -v apt-get >/dev/null || return 1
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    sudo -n true 2>/dev/null || return 1
    as_root=(sudo -n)
  fi
  echo "penstock: installing $* with apt-get (up to a minute)"
  # An old package list is the usual reason for a failed install, and refreshing it is slow: only on failure.
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null 2>&1 && return 0
  "${as_root[@]}" apt-get update -qq >/dev/null || return 1
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}
