#!/bin/sh
# Prints the commands that the service of OpenWrt would start, one a line: openwrt.sh INIT CONFIG
#
# For tests without OpenWrt: the functions of rc.common, procd and UCI that the service uses. The configuration has one setting a
# line, and its values are in quotes.

config_load() {
	:
}

# Prints the values of a setting of a section.
config_values() {
	sed -n "/^config .* '$1'\$/,/^config /s/^[[:space:]]*\\(option\\|list\\) $2 '\\(.*\\)'\$/\\2/p" "$CONFIG"
}

config_foreach() {
	# Names of sections have no spaces.
	# shellcheck disable=SC2013
	for section in $(sed -n "s/^config $2 '\\(.*\\)'\$/\\1/p" "$CONFIG"); do
		"$1" "$section"
	done
}

config_get() {
	eval "$1=\$(config_values \"\$2\" \"\$3\")"
}

config_get_bool() {
	config_get "$1" "$2" "$3"
	eval "case \"\$$1\" in 1 | on | true | yes | enabled) $1=1 ;; '') $1=$4 ;; *) $1=0 ;; esac"
}

config_list_foreach() {
	local section="$1" setting="$2" function="$3" value
	shift 3
	for value in $(config_values "$section" "$setting"); do
		"$function" "$value" "$@"
	done
}

procd_open_instance() {
	COMMAND=""
}

procd_set_param() {
	if [ "$1" = command ]; then
		shift
		COMMAND="$*"
	fi
}

procd_append_param() {
	[ "$1" = command ] || return 1
	shift
	COMMAND="$COMMAND $*"
}

procd_close_instance() {
	echo "$COMMAND"
}

procd_add_reload_trigger() {
	:
}

CONFIG="$2"
# shellcheck disable=SC1090
. "$1"
start_service
