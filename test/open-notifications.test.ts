import t from 'tap'
import { openChannels } from '../src/open-notifications.ts'
import { optionsOf } from './support/limits/test-rates.ts'

const deps = { now: () => 0 }
const email = ['--smtp-url=smtp://h', '--email-from=a@b', '--email-to=c@d']
const webhook = ['--webhook-url=https://hooks.example.com/T0/secret', '--webhook-secret=0123456789abcdef']

t.test('nothing is opened until it is configured, and then what is', async (t) => {
  const namesOf = async (...flags: readonly string[]) =>
    (await openChannels(optionsOf(...flags), deps)).map(({ name }) => name)
  t.same(await namesOf(), [])
  t.same(await namesOf(...email), ['email'])
  t.same(await namesOf(...webhook), ['webhook'])
  t.same(await namesOf(...email, ...webhook), ['email', 'webhook'])
})

t.test('what is configured by half, or cannot be called, is refused at the start, without its secrets', async (t) => {
  for (const [flags, reason] of [
    [email.slice(0, 2), 'e-mail needs all of --smtp-url, --email-from and --email-to'],
    [email.slice(1), 'e-mail needs all of --smtp-url, --email-from and --email-to'],
    [['--smtp-url=smtp://h:99999', ...email.slice(1)], '--smtp-url is not a valid address'],
    [webhook.slice(0, 1), 'a webhook needs both --webhook-url and --webhook-secret'],
    [webhook.slice(1), 'a webhook needs both --webhook-url and --webhook-secret'],
    [['--webhook-url=https://h:99999/secret', ...webhook.slice(1)], '--webhook-url is not a valid address'],
    [['--webhook-url=http://example.com/secret', ...webhook.slice(1)], /http:\/\/example\.com.*--webhook-allow-http/],
    [['--webhook-url=https://10.0.0.1/secret', ...webhook.slice(1)], /https:\/\/10\.0\.0\.1.*--webhook-allow /],
  ] as const) {
    const opening = openChannels(optionsOf(...flags), deps)
    await t.rejects(opening, { code: 'NOTIFICATIONS_UNUSABLE', message: reason }, flags.join(' '))
    await opening.catch((error: unknown) => t.notMatch(String(error), /\/secret|0123456789/))
  }
})
