#!/bin/sh
# Sends a running qr-service requests that its OpenAPI document allows and forbids: schemathesis.sh URL EXAMPLES
#
# One check is left out: that every request that fits the schema is accepted. A schema cannot express that `style` is
# only for `txt`, an IBAN's check digits, or the contrast of colours. The service refuses such requests with a reason,
# and tests/api/random.rs checks them. schemathesis_checks.py has the part of the check that can be kept.
set -eu
here=$(dirname "$0")
tools=$here/../../target/tools/schemathesis
test -x "$tools/bin/schemathesis" || { python3 -m venv "$tools" && "$tools/bin/pip" install --quiet schemathesis==4.32.5; }
export PYTHONPATH="$here" SCHEMATHESIS_HOOKS=schemathesis_checks PYTHONDONTWRITEBYTECODE=1
exec "$tools/bin/schemathesis" --config-file "$here/schemathesis.toml" run "$1/v1/openapi.json" \
	--checks all --exclude-checks positive_data_acceptance --max-examples "${2:-100}" \
	--continue-on-failure --request-timeout 20
