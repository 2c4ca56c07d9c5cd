import t from 'tap'
import { compileTemplate, isTemplate } from '../../src/template/compile-template.ts'
import { fillSecrets } from '../../src/template/secret-text.ts'
import { defaultTemplateLimits, type ParameterValue, type RenderContext } from '../../src/template/template.types.ts'
import { TemplateError } from '../../src/template/template-error.ts'

type Values = Readonly<Record<string, ParameterValue>>

const secrets: ReadonlyMap<string, string> = new Map([
  ['key', "it's"],
  ['empty', ''],
])
const run: RenderContext = { mode: 'run', secret: (name) => secrets.get(name), secretsAs: 'parameters' }
const check: RenderContext = { ...run, mode: 'check' }

function rendered(source: string, values: Values = {}, context = run): string {
  return compileTemplate(`%${source}`).render(new Map(Object.entries(values)), context).sql
}

function failure(source: string, values: Values = {}, context = run): TemplateError {
  try {
    rendered(source, values, context)
  } catch (error) {
    if (error instanceof TemplateError) return error
    throw error
  }
  throw new Error(`${source} did not fail`)
}

function message(source: string, values: Values = {}, context = run): string {
  return failure(source, values, context).message
}

/** Source, values, rendered text. */
type Example = readonly [string, Values, string]

function expectAll(test: Tap, examples: readonly Example[], context = run): void {
  for (const [source, values, sql] of examples) {
    test.equal(rendered(source, values, context), sql, `${source} with ${JSON.stringify(values)}`)
  }
}

interface Tap {
  readonly equal: (found: string, wanted: string, message: string) => unknown
}

t.test('SQL is a template only when its first mark is %', async (t) => {
  t.ok(isTemplate('  \n% SELECT 1'))
  t.notOk(isTemplate('SELECT 5 % 2'))
  t.equal(compileTemplate('SELECT {{x}} % 2').render(new Map(), run).sql, 'SELECT {{x}} % 2')
  t.equal(compileTemplate(' %\n  SELECT 1 % 2').render(new Map(), run).sql, '\n  SELECT 1 % 2')
})

t.test('tags follow the rules of Tornado', async (t) => {
  expectAll(t, [
    ['{% if x %}a{% elif y %}b{% else %}c{% end %}', { y: '1' }, 'a'.replace('a', 'b')],
    ['{%if x%}a{%else%}c{%end%}', {}, 'c'],
    ['{% for a in x.split(",") %}[{{a}}]{% end %}', { x: 'p,q' }, "['p']['q']"],
    ['{% for i, a in enumerate([7, 8]) %}{{i}}={{a}};{% end %}', {}, '0=7;1=8;'],
    ['{% for a in [1,2,3] %}{% if a == 2 %}{% continue %}{% end %}{{a}}{% end %}', {}, '13'],
    ['{% for a in [1,2,3] %}{% if a == 2 %}{% break %}{% end %}{{a}}{% else %}no{% end %}', {}, '1'],
    ['{% set i = 0 %}{% while i < 3 %}{{i}}{% set i = i + 1 %}{% end %}', {}, '012'],
    ['{% if True %}{% set a = 5 %}{% end %}{{a}}', {}, '5'],
    ['{% set a, b = 1, 2 %}{{a + b}}', {}, '3'],
    [
      '{% try %}{{ 1 // 0 }}{% except ZeroDivisionError as e %}[{{e}}]{% finally %}.{% end %}',
      {},
      "['integer division or modulo by zero'].",
    ],
    ["a{# {{x}} #}b{% comment it's {{x}} %}c", {}, 'abc'],
    ['{{!x}} {%!y%} {#!z#}', {}, '{{x}} {%y%} {#z#}'],
    ['{{{1}}}', {}, '{1}'],
    [' {{ \n 1 +\n 2 }} ', {}, ' 3 '],
    ['{% if defined({{UInt64(x)}}) %}yes{% end %}', {}, 'yes'],
    ["{{ custom_error({'a': {'b': 1}}) if x else 2}}", {}, '2'],
  ])
  t.match(message('{% if x %}'), /^Syntax error: Missing \{% end %\} block for if at line 1$/)
  t.equal(message('\n\n{% for x in y %}'), 'Syntax error: Missing {% end %} block for for at line 3')
  t.equal(message('{% import os %}'), 'Syntax error: import is forbidden at <string>:1')
  t.equal(message('{% from os import path %}'), 'Syntax error: from is forbidden at <string>:1')
  t.equal(message('{% end %}'), 'Syntax error: Extra {% end %} block at line 1')
  t.equal(message('{% else %}'), 'Syntax error: else outside if/for/while/try block at line 1')
  t.equal(message('{% break %}'), 'Syntax error: break outside for/while block at line 1')
  t.equal(message('{% whatever %}'), "Syntax error: unknown operator: 'whatever' at line 1")
  t.equal(message('{{ 1'), 'Syntax error: Missing end expression }} at line 1')
  for (const word of [
    'raw',
    'apply f',
    'block a',
    'include "x"',
    'extends "x"',
    'module m()',
    'autoescape None',
    'whitespace all',
  ]) {
    t.match(message(`{% ${word} %}`), /is not supported/)
  }
  for (const source of [
    '{{ 1 + }}',
    '{{ lambda: 1 }}',
    '{{ [x for x in y] }}',
    "{{ 'a }}",
    '{{ a = 1 }}',
    '{{ f(a=1, 2) }}',
  ]) {
    t.equal(message(source), 'Syntax error: invalid syntax', source)
  }
  const place = failure('\n  {{ 1 ** 2 }}')
  t.equal(place.message, 'Template Syntax Error: Invalid BinOp: Pow()')
  t.same([place.line, place.column], [2, 8])
})

t.test('expressions mean what they mean in Python', async (t) => {
  expectAll(t, [
    ['{{7 // 2}} {{-7 // 2}} {{7 % 3}} {{-7 % 3}} {{7 / 2}} {{4 / 2}}', {}, '3 -4 1 2 3.5 2.0'],
    ['{{1e20}} {{1.0}} {{0.00001}} {{-1.5}} {{1e15}}', {}, '1e+20 1.0 1e-05 -1.5 1000000000000000.0'],
    ["{{x == '5'}} {{x == 5}} {{1 < 2 < 3}} {{1 == 1.0}} {{None is None}}", { x: '5' }, 'True False True True True'],
    ["{{'b' in 'abc'}} {{2 not in [1,2]}} {{'k' in {'k': 1}}}", {}, 'True False True'],
    ["{{x or 'd'}} {{'a' and 'b'}} {{1 if x else 2}}", {}, "'d' 'b' 2"],
    [
      "{{'abc'[1]}} {{'abc'[-1]}} {{'abcd'[1:3]}} {{[1,2,3][::-1]}} {{ {'k': 5}['k'] }}",
      {},
      "'b' 'c' 'bc' [3, 2, 1] 5",
    ],
    [
      "{{','.join(['a','b'])}} {{'A-b'.lower().replace('-', '_')}} {{len('abc')}} {{sum([1,2])}} {{max(1,3)}}",
      {},
      "'a,b' 'a_b' 3 3 3",
    ],
    ["{{'ab' 'cd' + \"e\" * 2}} {{int('5') + 1}} {{str(5)}} {{float('2')}}", {}, "'abcdee' 6 '5' 2.0"],
    ['{{9007199254740993 + 1}}', {}, '9007199254740994'],
    ['{{ x != [""] }}', { x: [''] }, 'False'],
    ["{{ j.get('a', 1) }} {{ j.get('b', 1) }}", { j: { a: 7 } }, '7 1'],
    ['{% for k, v in j.items() %}{{k}}={{v}} {% end %}', { j: { a: 1, b: 'x' } }, "'a'=1 'b'='x' "],
  ])
  for (const [source, text] of [
    ["{{ 'a' < 1 }}", "'<' not supported between instances of 'str' and 'int'"],
    ["{{ 'a' + 1 }}", 'can only concatenate str (not "int") to str'],
    ['{{ x * 2 }}', "unsupported operand type(s) for *: 'NoneType' and 'int'"],
    [
      "{{ 'a'.get('b') }}",
      "'str' object has no attribute 'get'. Make sure you're using an object/dictionary where trying to use .get()",
    ],
    [
      "{{ ''[0] }}",
      'String index out of range. Check that string parameters have values before accessing specific characters (e.g., param[0]). Provide default values or add length checks in your template.',
    ],
    ['{{ [1][5] }}', 'list index out of range'],
    ["{{ ''.__class__ }}", "attribute '__class__' is not allowed"],
    ['{{ x.constructor }}', "'NoneType' object has no attribute 'constructor'"],
    ['{{ length(x) }}', 'length cannot be used as a variable name or as a function inside of a template'],
    ['{{ length }}', 'length cannot be used as a variable name or as a function inside of a template'],
    ['{{ whatever(x) }}', 'wrong syntax, you might be using a not valid function inside a control block'],
    ['{{ constructor() }}', 'wrong syntax, you might be using a not valid function inside a control block'],
    ['{{ x }}', 'expression "x" evaluated to null'],
    ['{{ some_long_name or another_name }}', 'expression "some_long_name or an..." evaluated to null'],
  ] as const) {
    t.equal(message(source), `Template Syntax Error: ${text}`, source)
  }
  t.equal(message('{{ whatever(x) }}', {}, check), "Template Syntax Error: 'whatever' is not a valid function, line 1")
  t.equal(message('{{ format }}'), '"format" can not be used as a variable name, line 1')
  t.equal(message('\n{% if defined(q) %}{% end %}'), '"q" can not be used as a variable name, line 2')
})

t.test('names that are not given are None, and no name reaches JavaScript', async (t) => {
  expectAll(t, [
    ['{{defined(x)}} {{defined(y)}}', { x: '' }, 'True False'],
    ['{% if x %}a{% else %}b{% end %}', { x: '' }, 'b'],
    [
      '{{defined(print)}} {{defined(__proto__)}} {{defined(constructor)}} {{defined(id)}}',
      {},
      'False False False False',
    ],
  ])
  t.same(compileTemplate('% {{debug}} {{x}}').warnings, ['"debug" is a reserved name'])
  t.equal(
    compileTemplate('%{{job_timestamp}}').render(new Map(), { ...run, jobTimestamp: '2026-01-02 03:04:05' }).sql,
    "'2026-01-02 03:04:05'",
  )
})

t.test('typed functions print by their types', async (t) => {
  expectAll(t, [
    ['{{String(x)}} {{x}}', { x: "it's" }, "'it\\'s' 'it\\'s'"],
    ['{{x}}', { x: '\0\r\b\t\x1a\n"\'\\%`' }, "'\\0\\r\\b\\t\\z\\n\\\"\\'\\\\\\%\\`'"],
    ['{{String(x, "d")}} {{String(x, default="e", required=True)}}', {}, "'d' 'e'"],
    ['{{Int8(x)}} {{UInt256(y)}} {{Int(x)}} {{Integer(x)}}', { x: '+5', y: 7 }, "toInt8('5') toUInt256('7') 5 5"],
    [
      '{{Float32(x)}} {{Float64(y)}} {{Float64(z)}}',
      { x: '1', y: '.5', z: 'nan' },
      "toFloat32('1.0') toFloat64('0.5') toFloat64('nan')",
    ],
    [
      'LIMIT {{Int32(size,10)}} OFFSET {{Int32(page,0) * Int32(size,10)}}',
      { page: '3' },
      "LIMIT toInt32('10') OFFSET 30",
    ],
    ['{{Boolean(x)}} {{Boolean(y)}} {{Boolean(z)}} {{Boolean(u, True)}}', { x: 'FALSE', y: 'yes' }, '0 1 0 1'],
    [
      '{{Date(x)}} {{DateTime(y)}} {{DateTime64(z)}}',
      { x: '2024-01-01', y: '2024-01-01T00:00:00Z', z: '2024-01-01 00:00:00.123' },
      "'2024-01-01' '2024-01-01T00:00:00Z' '2024-01-01 00:00:00.123'",
    ],
    [
      "{{Array(x, 'Int32')}} {{Array(y)}} {{Array(z, 'Float64')}}",
      { x: '1,2', y: ['a', 'b'], z: '1,2.5' },
      "[1,2] ['a','b'] [1.0,2.5]",
    ],
    ["{{Array(x, 'Int32', default='1,2')}} {{Array(x, Int32, [3])}} {{Array(y)}}", { y: '' }, "[1,2] [3] ['']"],
    ["{% for v in x %}{{v}};{% end %}{{sum(x)}} {{Array(x, 'Int32')}}", { x: '1,2' }, '1;2;3 [1,2]'],
    ['{{Symbol(x)}} {{Column(x)}}', { x: 'a"`b' }, '`a\\`b` `a\\`b`'],
    ["{% for a in JSON(x) %}{{a.get('k')}}{% end %}", { x: '[{"k": 1}, {"k": "v"}]' }, "1 'v'"],
    ['{{UUID(x)}}', { x: '123e4567-e89b-12d3-a456-426614174000' }, "'123e4567-e89b-12d3-a456-426614174000'"],
    ['{{sql_and(a=String(x, defined=False), b=1)}}', {}, 'b = 1'],
    ['{{String(x)}}', { x: ['a', 'b'] }, "'a,b'"],
  ])
  for (const [source, values, text] of [
    ['{{Int8(x)}}', { x: '128' }, "Error validating '128' to type Int8"],
    ['{{UInt8(x)}}', { x: '-1' }, "Error validating '-1' to type UInt8"],
    ['{{Int(x)}}', { x: 'a' }, "Error validating 'a' to type Int32"],
    ['{{Float64(x)}}', { x: '1_0' }, "Error validating '1_0' to type Float64"],
    ["{{DateTime(x, 'today')}}", {}, "Error validating 'today' to type DateTime"],
    ['{{DateTime64(x)}}', { x: '2024-01-01 00:00:00' }, "Error validating '2024-01-01 00:00:00' to type DateTime64"],
    ['{{Date(x)}}', { x: '2024-01-01 ' }, "Error validating '2024-01-01 ' to type Date"],
    ['{{UUID(x)}}', { x: 'a' }, "Error validating 'a' to type UUID"],
    ["{{Array(x, 'Int32')}}", { x: '1,a' }, 'Error validating [1,a][1] (a) to type Int32'],
    ["{{Array(x, 'Int32')}}", { x: '' }, 'Error validating [][0] (empty string) to type Int32'],
    ['{{Array(x)}}', { x: 5 }, 'transform type function Array is not well defined'],
    ['{{JSON(x)}}', { x: 'nope' }, "Error parsing JSON: 'nope' - Expecting value: line 1 column 1 (char 0)"],
    ['{{String()}}', {}, 'one of the transform type functions is missing an argument'],
    [
      '{{String(a)}}{{Int32(b, 1)}}{{Date(c)}}{{defined(e)}}{{Int8(d)}}',
      {},
      'Required parameter is not defined. Check the parameters a, c and d. Please provide a value or set a default value in the pipe code.',
    ],
    [
      '{{String(a)}}',
      {},
      'Required parameter is not defined. Check the parameters a. Please provide a value or set a default value in the pipe code.',
    ],
    ["{{String(j.get('a'))}}", { j: {} }, 'Required parameter is not defined'],
  ] as const) {
    t.equal(message(source, values), `Template Syntax Error: ${text}`, source)
  }
})

t.test('functions write SQL that stays what it is', async (t) => {
  expectAll(t, [
    ["{{column(x, 'd')}} {{column('a.b')}} {{symbol('a.b')}}", {}, '`d` `a`.`b` `a.b`'],
    ["{{columns(x, 'd')}} {{columns(x, 'a,b', fn='sum')}}", {}, '`d` sum(`a`) as a,sum(`b`) as b'],
    ["{{table('events')}} {{TABLE('a.b')}} {{table(x)}}", { x: 'e; DROP' }, 'events a.b `e; DROP`'],
    [
      '{{sql_and(a__in=Array(a), b__gte=Int32(b), c=c, d__not_in=Array(e, defined=False))}}',
      { a: 'x,y', b: '1', c: 'z' },
      "a in ['x','y'] and b >= toInt32('1') and c = 'z'",
    ],
    ['[{{sql_and(a=a)}}]', {}, '[]'],
    [
      "{{split_to_array(x)}} {{split_to_array(y, 'a|b', separator='|')}}",
      { x: " it's , b" },
      "['it''s', 'b'] ['a', 'b']",
    ],
    ['{% for last, a in enumerate_with_last([1,2]) %}{{a}}{% if not last %},{% end %}{% end %}', {}, '1,2'],
    ["{{day_diff('2019-01-02', '2019-02-01')}} {{date_diff_in_days('2019-01-02', '2019-02-01')}}", {}, '30 30'],
    [
      "{{date_diff_in_hours('2022-12-14 18:42:22', '2022-12-19 18:42:22')}} {{date_diff_in_minutes('2022-12-14 18:42:22', '2022-12-19 18:42:22')}}",
      {},
      '120 7200',
    ],
    [
      "{{date_diff_in_seconds('2022-12-19T18:42:23.521Z', '2022-12-19T18:42:24.521Z', '%Y-%m-%dT%H:%M:%S.%fz')}}",
      {},
      '1',
    ],
    ["{{date_diff_in_days('2022-12-19', 'x', backup_date_format='%Y', none_if_error=True) is None}}", {}, 'True'],
    [
      "{{sql_unescape(String(x), '%')}} {{sql_unescape(String(x), \"'\")}}",
      { x: "%a\\%'" },
      "'%a\\\\%\\'' '\\%a\\\\\\%\\''",
    ],
    [
      "SELECT 1 {{max_threads(4)}}SETTINGS {{cache_ttl('5m')}}{{backend_hint('b1')}}{{activate('analyzer')}}",
      {},
      'SELECT 1 -- max_threads 4\nSETTINGS -- cache_ttl 5m\n-- backend_hint b1\n-- activate analyzer\n',
    ],
    ["{{tb_secret('key')}} {{tb_var('none', 'd')}} {{tb_var('key', 'd')}}", {}, "{key: String} 'd' {key: String}"],
  ])
  const { settings } = compileTemplate("%{{max_threads(4)}}{{cache_ttl('5m')}}{{disable('analyzer')}}").render(
    new Map(),
    run,
  )
  t.same(settings, { maxThreads: 4, cacheTtlSeconds: 300, backendHint: null, activated: [], disabled: ['analyzer'] })
  const template = compileTemplate(
    "%{{tb_secret('key')}}{{tb_secret('none', 'd')}}{{table('a')}}{% if x %}{{table('b')}}{% end %}",
  )
  t.same([...template.render(new Map(), run).secrets], [['key', "it's"]])
  t.equal(template.render(new Map(), { ...run, secretsAs: 'literals' }).sql, "'it\\'s' 'd'a")
  t.same(
    [template.tables, template.secretNames],
    [
      ['a', 'b'],
      ['key', 'none'],
    ],
  )
  for (const [source, text] of [
    ['{{column(x)}}', "Missing column() default value, use `column(column_name, 'default_column_name')`"],
    ['{{columns(x)}}', "Missing columns() default value, use `columns(column_names, 'default_column_name')`"],
    ["{{columns(['a'], 'b')}}", "The 'columns' function expects a String not an Array"],
    ['{{sql_and(a__like="x")}}', 'operand like not supported'],
    [
      "{{tb_secret('x')}}",
      "Cannot access secret 'x'. Check the secret exists in the Workspace and the token has the required scope.",
    ],
    ["{{cache_ttl('2m')}}", "Invalid TTL cache expression, valid expressions are ('5s', '1m', '5m', '30m', '1h')"],
    ["{{activate('x')}}", "'x' is not a valid 'activate' argument"],
    [
      '{{split_to_array(5)}}',
      'First argument of split_to_array has to be a value that can be split to a list of elements, but found a PlaceHolder with no value instead',
    ],
    [
      "{{day_diff('a', 'b')}}",
      'invalid date format in function `day_diff`, it must be ISO format date YYYY-MM-DD, e.g. 2018-09-26. For other fotmats, try `date_diff_in_days`',
    ],
    [
      "{{date_diff_in_days('a', 'b')}}",
      'invalid date format in function `date_diff_in_days`, it must be ISO format date YYYY-MM-DD, e.g. 2018-09-26',
    ],
  ] as const) {
    t.equal(message(source), `Template Syntax Error: ${text}`, source)
  }
  t.match(
    message("{{date_diff_in_hours('a', 'b')}}"),
    /^Template Syntax Error: invalid date_format in function `date_diff_in_hours`, defaults to YYYY-MM-DD hh:mm:ss\./,
  )
  t.match(message("{{date_diff_in_minutes('a', 'b')}}"), /function `date_diff_in_seconds`/)
})

t.test('error() and custom_error() answer what their author wrote', async (t) => {
  const plain = failure("{{ error('no ' + x) }}", { x: 'luck' })
  t.same(
    [plain.message, plain.documentation, plain.answer],
    ['no luck', null, { status: 400, body: { error: 'no luck' } }],
  )
  const custom = failure("{{ custom_error({'error_id': 10001, 'error': 'gone'}, 410) }}")
  t.same(custom.answer, { status: 410, body: { error_id: 10001, error: 'gone' } })
  t.equal(failure('{{x}}').documentation, '/cli/advanced-templates.html')
})

t.test('check mode renders placeholders for what is missing', async (t) => {
  expectAll(
    t,
    [
      [
        '{{x}} {{String(x)}} {{Int32(x)}} {{Int(x)}} {{Float64(x)}}',
        {},
        "'__no_value__' '__no_value__' toInt32('0') 0 toFloat64('0.0')",
      ],
      [
        '{{Date(x)}} {{DateTime(x)}} {{DateTime64(x)}}',
        {},
        "'2019-01-01' '2019-01-01 00:00:00' '2019-01-01 00:00:00.000'",
      ],
      ["{{Array(x, 'Int32')}} {{Array(y)}} {{symbol(x)}} {{table(x)}}", {}, "[0,0] [''] `placeholder` placeholder"],
      ["{{String(x, 'd')}} {{defined(x)}} {{len(x.split(','))}} {{x.startswith('a')}}", {}, "'d' False 2 False"],
      ['{% for a in x %}.{% end %}{{x[0]}}', {}, "...'__no_value__'"],
      ["{{error('a')}}{{custom_error({})}}{{tb_secret('none')}}", {}, '{none: String}'],
    ],
    check,
  )
  t.equal(
    message('{{x > 5}}', {}, check),
    "Template Syntax Error: '>' not supported between instances of 'PlaceHolder' and 'int'. If you are using a dynamic parameter, you need to wrap it around a valid Data Type (e.g. Int8(placeholder))",
  )
  t.equal(
    message('{{JSON(x)}}', {}, check),
    "Template Syntax Error: Error parsing JSON: '__no_value__' - Expecting value: line 1 column 1 (char 0)",
  )
  t.equal(rendered("{% for a in JSON(x, '[]') %}{{a}}{% end %}.", {}, check), '.')
})

t.test('parameters are described without rendering', async (t) => {
  const { parameters } = compileTemplate(`%
    {% if defined(a) %}{{Int32(a, -1, description='An a', required=True, enum=[1, 2], example=3, format='f')}}{% end %}
    {{plain}} {{Array(list, 'Int16')}} {{Array(texts)}} {{Int64(big, 9007199254740993)}} {% if defined(only) %}{% end %}
    {% set made = 1 %}{% for v in list %}{{v}}{% end %}{{String(a)}} {% if defined({{UInt64(braced)}}) %}{% end %}`)
  t.same(parameters, [
    {
      name: 'a',
      type: 'Int32',
      default: -1,
      required: true,
      description: 'An a',
      enum: [1, 2],
      example: 3,
      format: 'f',
    },
    { name: 'plain', type: 'String', default: null },
    { name: 'list', type: 'Array(Int16)', default: null },
    { name: 'texts', type: 'Array(String)', default: null },
    { name: 'big', type: 'Int64', default: '9007199254740993' },
    { name: 'only', type: 'String', default: null, used_in: 'function_call' },
    { name: 'made', type: 'String', default: null },
    { name: 'a', type: 'String', default: null },
    { name: 'braced', type: 'UInt64', default: null },
  ])
})

t.test('a value inside of quotes, comments and beside other text never gets free', async (t) => {
  const x = "a' OR 1=1 -- */ \n`"
  expectAll(t, [
    ["'{{x}}'", { x }, "'a\\' OR 1=1 -- */ \\n\\`'"],
    ['`{{x}}` "{{x}}"', { x: '`"' }, '`\\`\\"` "\\`\\""'],
    ['-- {{x}}\n{{x}}', { x: 'a\nb' }, "-- 'a\\nb'\n'a\\nb'"],
    ['/* {{x}} */ {{x}}', { x: '*/ b /*' }, "/* '* / b / *' */ '*/ b /*'"],
    ["'a'{{x}}'b' x{{x}}", { x: '1' }, "'a' '1' 'b' x '1'"],
    ['1 -{{Int(x)}} - 1', { x: '-5' }, '1 - -5 - 1'],
    ["'{{Int32(x)}} {{Array(y)}}'", { x: '5', y: 'a' }, "'5 [\\'a\\']'"],
  ])
  t.match(message("'\\{{x}}'", { x: 'a' }), /after a backslash/)
  t.match(message('$$a {{x}} $$', { x: 'a' }), /heredoc/)
  t.match(message("'{{tb_secret('key')}}'"), /secret cannot be printed inside of quotes/)
})

t.test('every limit holds at its maximum and fails above it', async (t) => {
  const limits = {
    sourceCharactersMax: 60,
    nestingMax: 3,
    loopIterationsMax: 10,
    renderedCharactersMax: 20,
    parametersMax: 2,
  }
  const attempt = (source: string) => () => compileTemplate(source, limits).render(new Map(), run).sql
  t.equal(attempt(`%${' '.repeat(7)}{# ${'x'.repeat(46)} #}`)(), ' '.repeat(7))
  t.throws(attempt(`%{# ${'x'.repeat(54)} #}`), /longer than 60 characters/)
  t.equal(attempt('%{{((1))}}')(), '1')
  t.throws(attempt('%{{((((1))))}}'), /nested deeper than 3 levels/)
  t.throws(attempt(`%${'{%if 1%}'.repeat(4)}`), /nested deeper than 3 levels/)
  t.equal(attempt('%{% for a in "abcde" %}{{a}}{% end %}')(), "'a' 'b' 'c' 'd' 'e'")
  t.throws(attempt('%{% for a in "abcdef" %}{{a}}{% end %}'), /more than 10 loop iterations/)
  t.throws(attempt('%{% while 1 %}{% try %}{% finally %}{% end %}{% end %}'), /more than 10 loop iterations/)
  t.throws(attempt('%{{len(range(10000000000000))}}'), /more than 10 loop iterations/)
  t.equal(attempt(`%${'x'.repeat(20)}`)(), 'x'.repeat(20))
  t.throws(attempt(`%${'x'.repeat(21)}`), /longer than 20 characters/)
  t.throws(attempt("%{{'ab' * 11}}"), /longer than 20 characters/)
  t.equal(attempt('%{{defined(a)}}{{defined(b)}}')(), 'FalseFalse')
  t.throws(attempt('%{{defined(a)}}{{defined(b)}}{{c}}'), /more than 2 parameters/)
  t.throws(() => rendered('{% set a = 3 %}{% while 1 %}{% set a = a * a %}{% end %}'), /512 bits/)
  t.throws(() => rendered('{% set a = [] %}{% while 1 %}{% set a = [a] %}{% end %}'), /nested deeper than 100 levels/)
  t.throws(
    () => rendered("{% set s = 'a' * 1000000 %}{{ str([s, s, s, s, s]) }}"),
    /holds more than 4194304 characters/,
  )
  t.throws(() => rendered("{% set s = 'a' * 1000000 %}{% while s == s + '' %}{% end %}"), /loop iterations/)
  t.throws(() => rendered(`{{${'1+'.repeat(1000)}1}}`), /more than 600 operators/)
  t.equal(defaultTemplateLimits.loopIterationsMax, 100_000)
})

t.test('secrets fill the settings of connections', async (t) => {
  const secret = (name: string) => secrets.get(name)
  t.equal(
    fillSecrets(
      'KAFKA_KEY {{ tb_secret("key", "d") }}\nB {{tb_secret(\'empty\')}}\nC {{ tb_secret("no", "d") }}',
      secret,
    ),
    'KAFKA_KEY it\'s\nB ""\nC d',
  )
  t.throws(() => fillSecrets('A\n{{ tb_secret("no") }}', secret), {
    line: 2,
    column: 1,
    message: /Cannot access secret 'no'/,
  })
})
