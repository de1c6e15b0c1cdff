# Installs Debian packages without letting the services in them start, which would take the
# servers' standard ports. Arguments: the path of policy-rc.d, then the packages.
#
# A script, not Rust, so that one sudo call covers it and a signal still leads to the clean-up.
set -eu
policy=$1
shift
saved=$policy.before-tenure
mark='# Placed by cargo xtask test while it installs packages.'
placed=no
# Root's PATH may lack the sbin directories, without which dpkg refuses to work.
PATH=$PATH:/usr/sbin:/usr/bin:/sbin:/bin
# NEEDRESTART_SUSPEND: Ubuntu would otherwise restart services after an install.
export PATH DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1

# Two runs at once would remove each other's policy. The lock goes with the shell.
exec 9<"$(dirname "$policy")"
flock 9

denies_services() {
    for service in redis-server mariadb postgresql; do
        code=0
        "$policy" "$service" start >/dev/null 2>&1 9<&- || code=$?
        [ "$code" -eq 101 ] || return 1
    done
}

restore() {
    if [ "$placed" = yes ]; then rm -f "$policy"; fi
    if [ -e "$saved" ]; then mv "$saved" "$policy"; fi
}
trap restore EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

if [ -e "$policy" ] && grep -qxF "$mark" "$policy"; then
    placed=yes # left by a run that was killed
elif [ -x "$policy" ] && denies_services; then
    : # somebody else's, and it does what is needed
else
    if [ -e "$policy" ]; then mv "$policy" "$saved"; fi
    placed=yes
    printf '#!/bin/sh\n%s\nexit 101\n' "$mark" >"$policy"
    chmod 755 "$policy"
fi

# Old lists may still do; whether they do, the installation decides.
apt-get -q update 9<&- || echo "xtask: apt-get update failed, trying with the lists at hand" >&2
# --no-remove: MariaDB and MySQL exclude each other, and nobody's MySQL goes for the sake of a test.
apt-get -q -o DPkg::Lock::Timeout=300 install -y --no-install-recommends --no-remove "$@" 9<&-
