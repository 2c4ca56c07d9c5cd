// Values of variables are whatever people make them, and each text of a caller that goes into a service row is searched for them.

import t from 'tap'
import { LogSecrets } from '../../src/observe/log-secrets.ts'
import { RowSecrets } from '../../src/service-rows/row-secrets.ts'

/** Cleans what has one of these values. */
function hiding(...values: readonly string[]): RowSecrets {
  const secrets = new RowSecrets(new LogSecrets())
  secrets.hideVariables({ version: 1, values: () => values })
  return secrets
}

t.test('values of very many parts are known by the first of them, so that no search takes long', async (t) => {
  const valueNamed = (name: string): string => Array.from({ length: 900 }, (_, at) => `${name}${1_000 + at}`).join('&')
  const values = Array.from({ length: 100 }, (_, at) => valueNamed(`v${100 + at}`))
  const many = hiding(...values)
  for (const value of [values[0], values[99]]) t.equal(many.cleanValue(`x${value}`), '[redacted]')
  t.equal(many.cleanValue('/p?word=v1501000&v1501019&other=1'), '/p?word=[redacted]&[redacted]&other=1')
  t.equal(many.cleanValue('/p?word=v1501000&v1501020&other=1'), '/p?word=[redacted]&v1501020&other=1')
  const one = hiding(valueNamed('v100'))
  t.equal(one.cleanValue('/p?word=v1001000&v1001899&other=1'), '/p?word=[redacted]&[redacted]&other=1')
})

t.test('a value that is changed is looked for as it is then, and no more as it was', async (t) => {
  const values = ['the first value', 'another value']
  const variables = { version: 0, values: () => values }
  const secrets = new RowSecrets(new LogSecrets())
  t.equal(secrets.cleanValue('the first value'), 'the first value')
  secrets.hideVariables(variables)
  t.equal(secrets.cleanValue('the first value'), '[redacted]')
  values[0] = 'the second value'
  variables.version = 1
  t.equal(secrets.cleanValue('the first value'), 'the first value')
  t.equal(secrets.cleanValue('the second value'), '[redacted]')
  t.equal(secrets.cleanValue('another value'), '[redacted]')
  values.length = 0
  variables.version = 2
  t.equal(secrets.cleanValue('another value'), 'another value')
})

t.test('names of the workspace are no values, wherever a variable has the same word', async (t) => {
  const secrets = hiding('customer')
  secrets.showNames((text) => text === 'customers_ev')
  t.equal(secrets.cleanName('customers_ev'), 'customers_ev')
  t.equal(secrets.cleanName('customers_of_nobody'), '[redacted]')
  t.equal(secrets.cleanValue('customers_ev'), '[redacted]')
  t.equal(secrets.cleanOwnName('customers_gone'), 'customers_gone')
  t.equal(secrets.cleanOwnName('token=customers'), 'token=[redacted]')
  const names = ['customers_top', 't_1']
  const path = '/v0/pipes/customers_top.json'
  t.equal(secrets.cleanUrl(path, names), path)
  t.equal(secrets.cleanUrl(`${path}?word=customers&n=1`, names), `${path}?word=[redacted]&n=1`)
  t.equal(secrets.cleanUrl(`${path}?word=customers_top`, names), `${path}?word=[redacted]`)
  for (const sent of [
    '/v0/pipes/customers_2.json',
    '/v0/pipes/customers_top.customer.json',
    '/v0/pipes/t_.customer.1.json',
  ])
    t.equal(secrets.cleanUrl(`${sent}?n=1`, names), '[redacted]')
})

t.test('a number is known in each notation', async (t) => {
  const secrets = hiding('7351902864', ' 00000001', '-0.00000012', 'no number')
  for (const sent of [
    '7351902864',
    '7.351902864e9',
    '7.351902864E+9',
    '73519028640e-1',
    '7351902864.0',
    '-7.351902864e9',
    '7_351_902_864',
    '0x1B6352290',
    '[1,7.351902864e9]',
    '7.351902864e%2B9',
    '1.2e-7',
  ]) {
    t.equal(secrets.cleanValue(sent), '[redacted]', sent)
    t.equal(secrets.cleanUrl(`/p?n=${sent}&m=1`, []), '/p?n=[redacted]&m=1', sent)
  }
  for (const sent of ['1', '0', '0001', '7351902865', '7.351902864e8', 'e9', '7.351902864', '1.2.3', '-', 'NaN'])
    t.equal(secrets.cleanValue(sent), sent)
})

t.test(
  'a value is known without the blanks at its ends, with other ends of lines, and with its dates in both ways',
  async (t) => {
    const secrets = hiding(
      '  padded value \n',
      '2033-05-06 07:08:09',
      '2034-05-06T07:08:09',
      'a line\nand more',
      'one line\r\nand more',
    )
    for (const sent of [
      'padded value',
      '2033-05-06T07:08:09',
      '2033-05-06 07:08:09.000',
      '2034-05-06 07:08:09Z',
      'a line\r\nand more',
      'one line\nand more',
    ]) {
      t.equal(secrets.cleanValue(sent), '[redacted]', sent)
      t.equal(secrets.cleanUrl(`/p?word=${encodeURIComponent(sent)}`, []), '/p?word=[redacted]', sent)
    }
    for (const sent of ['padded', '2033-05-06 07:08:08', '2033-05-06', 'a line and more'])
      t.equal(secrets.cleanValue(sent), sent)
  },
)
