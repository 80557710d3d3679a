"""A check for schemathesis.sh, in place of positive_data_acceptance.

A request that fits the schema may be refused, but not for a reason that the schema could express: an unknown name, or
a value of another type.

It also repairs a fault of the pinned version: to generate a body that must not fit, that version passes files to its
validator, which cannot read them (`Unsupported type: 'Binary'`), and gives up on the operation. Elsewhere it validates
a file as an empty text, and so does this repair.
"""

import schemathesis
from schemathesis.generation.jsonschema import strategy
from schemathesis.specs.openapi.negative import _strip_binary

validator = strategy._validator
strategy._validator = lambda schema: lambda value: validator(schema)(_strip_binary(value))

SAYABLE = ('use a whole number', 'use a number', 'use true or false', 'use text, in quotation marks')
# Media types of rows of text, whose content the schema does not describe.
TEXTS = ('text/csv', 'application/x-ndjson')


FORMS = ('application/x-www-form-urlencoded', 'multipart/form-data')


@schemathesis.hook
def filter_case(context, case):
    """Leaves out forms with empty fields, which count as not given: a schema cannot say so."""
    is_form = case.media_type in FORMS and isinstance(case.body, dict)
    return not is_form or not any(value in ('', b'', None) for value in case.body.values())


@schemathesis.check
def refusal_beyond_the_schema(ctx, response, case):
    fits = case.meta is not None and case.meta.generation.mode.is_positive
    if not fits or response.status_code != 400 or case.media_type in TEXTS:
        return
    for fault in response.json().get('faults', []):
        of_schema = fault['code'] == 'unknown' or fault['detail'] in SAYABLE
        assert not of_schema, f'the schema allows it: {fault}'
