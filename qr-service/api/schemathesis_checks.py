"""A check for schemathesis.sh, in place of positive_data_acceptance.

What fits the schema may be refused, but not for what the schema could have said: a name that it does not have, or
a value of another type.

And one repair of the pinned version: where it draws a body that must not fit, it asks its validator about files,
which that cannot read (`Unsupported type: 'Binary'`), and gives up on the operation. Elsewhere it takes a file as an
empty text there; here as well.
"""

import schemathesis
from schemathesis.generation.jsonschema import strategy
from schemathesis.specs.openapi.negative import _strip_binary

validator = strategy._validator
strategy._validator = lambda schema: lambda value: validator(schema)(_strip_binary(value))

SAYABLE = ('use a whole number', 'use a number', 'use true or false', 'use text, in quotation marks')
# Rows of text, of which the schema says nothing.
TEXTS = ('text/csv', 'application/x-ndjson')


@schemathesis.check
def refusal_beyond_the_schema(ctx, response, case):
    fits = case.meta is not None and case.meta.generation.mode.is_positive
    if not fits or response.status_code != 400 or case.media_type in TEXTS:
        return
    for fault in response.json().get('faults', []):
        of_schema = fault['code'] == 'unknown' or fault['detail'] in SAYABLE
        assert not of_schema, f'the schema allows it: {fault}'
