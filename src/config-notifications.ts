// Options of notifications, a part of the one table. Without an SMTP server and without a webhook there are none.

import type { OptionDefinition } from './config.types.ts'

const addressPattern = '[^\\s,<>"@]+@[^\\s,<>"@]+'

export const notificationOptions = {
  smtpUrl: {
    kind: 'secret',
    defaultText: 'no e-mail is sent',
    // A path or a query would be ignored. What a user or a password has of `@`, `/`, `?`, `#` and `%` is percent-encoded.
    pattern: /^smtps?:\/\/(?:[^\s@/?#]+@)?[^\s@/?#]+\/?$/,
    expected: '`smtp://` or `smtps://` with a host, and a port, a user and a password where they are needed',
    sentence:
      'Server that takes e-mail: `smtps://user:password@mail.example.com:465`. Set it in the environment. See [notifications](notifications.md).',
  },
  smtpTls: {
    kind: 'choice',
    choices: ['required', 'optional', 'off'],
    default: 'required',
    sentence:
      'Whether a connection to a server `smtp://` turns to TLS before a password or an e-mail is sent: always, if the server offers it, or never.',
  },
  emailFrom: {
    kind: 'text',
    default: '',
    pattern: new RegExp(`^(?:${addressPattern})?$`),
    expected: 'an e-mail address, or empty',
    sentence: 'Address that e-mails are from.',
  },
  emailTo: {
    kind: 'text',
    default: '',
    pattern: new RegExp(`^(?:${addressPattern}(?:, *${addressPattern}){0,49})?$`),
    expected: 'up to 50 e-mail addresses separated by commas, or empty',
    sentence: 'Addresses that e-mails are sent to, separated by commas.',
  },
  webhookUrl: {
    kind: 'secret',
    defaultText: 'no webhook is called',
    pattern: /^https?:\/\/[^\s/?#@]+(?:[/?]\S*)?$/,
    expected: 'an https or http address without a user',
    sentence: 'Address that notifications are sent to by POST, as JSON. Set it in the environment.',
  },
  webhookSecret: {
    kind: 'secret',
    defaultText: 'none; a webhook needs it',
    pattern: /^[\x21-\x7e]{16,512}$/,
    expected: '16 to 512 characters without spaces',
    sentence: 'Secret that requests to the webhook are signed with. Set it in the environment.',
  },
  webhookAllow: {
    kind: 'text',
    default: '',
    pattern: /^[^\s,]*(?:,\s*[^\s,]+)*$/,
    expected: 'host names, addresses and networks separated by commas',
    sentence: 'Host names, addresses and networks (CIDR) that the webhook may have although they are not public.',
  },
  webhookAllowHttp: {
    kind: 'switch',
    sentence: 'Lets the webhook use http. Else only https is.',
  },
  notificationsCheckMs: {
    kind: 'integer',
    unit: 'ms',
    min: 1_000,
    max: 86_400_000,
    default: 60_000,
    sentence:
      'Time between two looks at how much of each limit is used, and at notifications that are to be sent again.',
  },
  notificationsRepeatHours: {
    kind: 'integer',
    unit: 'hours',
    min: 1,
    max: 8_760,
    default: 24,
    sentence: 'Time in which the same limit is told of once as approached and once as exceeded.',
  },
  notificationsTimeoutMs: {
    kind: 'integer',
    unit: 'ms',
    min: 100,
    max: 600_000,
    default: 10_000,
    sentence:
      'Longest time in which the webhook must answer, and in which the mail server must take an e-mail; it may accept it later.',
  },
  notificationsAttemptsMax: {
    kind: 'integer',
    unit: null,
    min: 1,
    max: 100,
    default: 12,
    sentence: 'How often a notification is sent until it is taken: after 1, 2, 4 … minutes, and at last every hour.',
  },
  notificationsWaitingMax: {
    kind: 'integer',
    unit: null,
    min: 1,
    max: 1_000,
    default: 100,
    sentence:
      'Notifications that may wait for e-mail, and as many for the webhook. Further ones are dropped and counted.',
  },
} as const satisfies Readonly<Record<string, OptionDefinition>>
