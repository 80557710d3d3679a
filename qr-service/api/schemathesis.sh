#!/bin/sh
# Asks a running qr-service what its OpenAPI document allows and what it forbids: schemathesis.sh URL EXAMPLES
#
# One check is left out: that all which fits the schema is accepted. A schema can say neither that `style` is
# only for `txt`, nor an IBAN's check digits, nor that the colours can be told apart. Those are refused with
# a reason, and tests/api/random.rs checks them. schemathesis_checks.py has what remains of the check.
set -eu
here=$(dirname "$0")
tools=$here/../../target/tools/schemathesis
test -x "$tools/bin/schemathesis" || { python3 -m venv "$tools" && "$tools/bin/pip" install --quiet schemathesis==4.32.5; }
export PYTHONPATH="$here" SCHEMATHESIS_HOOKS=schemathesis_checks PYTHONDONTWRITEBYTECODE=1
exec "$tools/bin/schemathesis" --config-file "$here/schemathesis.toml" run "$1/v1/openapi.json" \
	--checks all --exclude-checks positive_data_acceptance --max-examples "${2:-100}" \
	--continue-on-failure --request-timeout 20
