import { once } from 'node:events'
import t from 'tap'
import type { LimitUse } from '../../src/limits/limit-book.ts'
import { type LimitHit, LimitHits } from '../../src/limits/limit-hits.ts'
import { limitTable } from '../../src/limits/limit-table.ts'
import { type Channel, DeliveryFailure, type Notification } from '../../src/notifications/notification.types.ts'
import { Notifications, type NotificationsOptions } from '../../src/notifications/notifications.ts'
import { openSettings } from '../../src/storage/settings.ts'
import { TestLog } from '../support/api/test-service.ts'
import { MemoryStorage } from '../support/storage/memory-storage.ts'

const minuteMs = 60_000
const startMs = Date.UTC(2026, 0, 2)

const hit: LimitHit = {
  ...{ limit: 'imports', code: 'RATE_EXCEEDED', status: 429, atMs: startMs, requestId: 'r1' },
  ...{ tokenId: 't1', tokenName: 'writer', resource: 'visits' },
}

/** A channel that takes everything, or fails with a reason. */
class TestChannel implements Channel {
  readonly name: Channel['name']
  readonly taken: Notification[] = []
  attemptCount = 0
  failure: string | null = null
  isFinal = false
  /** What each attempt waits for. */
  held: Promise<void> = Promise.resolve()
  readonly #closed = new AbortController()

  constructor(name: Channel['name'] = 'email') {
    this.name = name
  }

  async send(notification: Notification): Promise<void> {
    this.attemptCount += 1
    const isClosed = once(this.#closed.signal, 'abort').then(() => true)
    const isEnded = await Promise.race([this.held.then(() => false), isClosed])
    if (isEnded) throw new DeliveryFailure('closed', { isFinal: false })
    if (this.failure !== null) throw new DeliveryFailure(this.failure, this)
    this.taken.push(notification)
  }

  async close(): Promise<void> {
    this.#closed.abort()
  }
}

class World {
  readonly storage = new MemoryStorage()
  readonly log = new TestLog()
  readonly hits = new LimitHits(this.log)
  /** What is used of each limit that has a maximum here. */
  readonly used = new Map<string, number>()
  nowMs = startMs
  countsFailure: Error | null = null

  async open(channels: readonly Channel[], more: Partial<NotificationsOptions> = {}): Promise<Notifications> {
    const options = {
      ...{ notificationsAttemptsMax: 3, notificationsCheckMs: 86_400_000, notificationsRepeatHours: 24 },
      ...{ notificationsWaitingMax: 100, documentationUrl: '' },
      ...more,
    }
    return new Notifications(options, {
      channels,
      limitBook: { uses: () => this.#uses() },
      countsOf: async () => {
        if (this.countsFailure !== null) throw this.countsFailure
        return new Map()
      },
      limitHits: this.hits,
      settings: await openSettings(this.storage),
      logger: this.log,
      now: () => this.nowMs,
    })
  }

  #uses(): readonly LimitUse[] {
    return limitTable.map((row) => ({
      ...row,
      max: 1_000,
      used: this.used.get(row.name) ?? null,
      resetSeconds: null,
      refusedCount: 0,
      standing: null,
      days: null,
    }))
  }
}

t.test('each channel gets each notification once, in the order in which limits are hit', async (t) => {
  const world = new World()
  const channels = [new TestChannel('email'), new TestChannel('webhook')]
  const notifications = await world.open(channels)
  t.teardown(() => notifications.close())
  await notifications.check()
  t.same(world.storage.writtenKeys, [], 'nothing happened, and nothing is written')
  world.used.set('storage', 800)
  await notifications.check()
  world.hits.tell(hit)
  world.hits.tell(hit)
  await notifications.check()
  await notifications.check()
  for (const { taken, name } of channels) {
    t.same(
      taken.map(({ limit, level }) => [limit, level]),
      [
        ['storage', 'warning'],
        ['imports', 'alert'],
      ],
      name,
    )
  }
  t.same(
    channels[0]?.taken.map(({ id }) => id),
    channels[1]?.taken.map(({ id }) => id),
  )
  t.match(notifications.counts, [
    { channel: 'email', sentCount: 2, failedCount: 0, droppedCount: 0, waitingCount: 0 },
    { channel: 'webhook', sentCount: 2, failedCount: 0, droppedCount: 0, waitingCount: 0 },
  ])
})

t.test('a refusal is told of without waiting for the next look, and after its caller was answered', async (t) => {
  const world = new World()
  const channel = new TestChannel()
  const notifications = await world.open([channel])
  t.teardown(() => notifications.close())
  world.hits.tell(hit)
  t.equal(channel.attemptCount, 0)
  await world.log.until('A notification was sent.')
  t.equal(channel.taken.length, 1)
})

t.test('what is not taken is sent again after 1 and 2 minutes, and given up after the last attempt', async (t) => {
  const world = new World()
  const [failing, well] = [new TestChannel('email'), new TestChannel('webhook')]
  failing.failure = 'no'
  const notifications = await world.open([failing, well])
  t.teardown(() => notifications.close())
  world.hits.tell(hit)
  const attemptsAt = async (afterMs: number): Promise<number> => {
    world.nowMs = startMs + afterMs
    await notifications.check()
    return failing.attemptCount
  }
  t.equal(await attemptsAt(0), 1)
  t.equal(await attemptsAt(minuteMs - 1), 1)
  t.equal(await attemptsAt(minuteMs), 2)
  t.equal(await attemptsAt(3 * minuteMs - 1), 2)
  t.match(notifications.counts[0], { failedCount: 2, droppedCount: 0, waitingCount: 1 })
  t.equal(await attemptsAt(3 * minuteMs), 3)
  t.equal(await attemptsAt(600 * minuteMs), 3)
  t.match(notifications.counts[0], { sentCount: 0, failedCount: 3, droppedCount: 1, waitingCount: 0 })
  t.equal(well.taken.length, 1, 'the other channel has it at once')
  t.match(await world.log.until('A notification was dropped.'), { fields: { channel: 'email', reason: 'no' } })
})

t.test('what is refused for good is given up at once, and told', async (t) => {
  const world = new World()
  const channel = new TestChannel()
  channel.failure = 'the mail server refused the message (answer 554)'
  channel.isFinal = true
  const notifications = await world.open([channel])
  t.teardown(() => notifications.close())
  world.hits.tell(hit)
  await notifications.check()
  t.match(notifications.counts, [{ sentCount: 0, failedCount: 1, droppedCount: 1, waitingCount: 0 }])
  t.match(await world.log.until('A notification was dropped.'), {
    level: 'error',
    fields: { channel: 'email', limit: 'imports', reason: channel.failure },
  })
  world.nowMs += minuteMs
  await notifications.check()
  t.equal(channel.attemptCount, 1)
})

t.test('a channel whose answer is late holds up neither the other one nor what is told meanwhile', async (t) => {
  const world = new World()
  const [late, well] = [new TestChannel('email'), new TestChannel('webhook')]
  let answer = (): void => {}
  late.held = new Promise((resolve) => {
    answer = resolve
  })
  const notifications = await world.open([late, well])
  t.teardown(() => notifications.close())
  world.hits.tell(hit)
  await world.log.until('A notification was sent.', ({ channel }) => channel === 'webhook')
  world.hits.tell({ ...hit, limit: 'events' })
  await world.log.until('A notification was sent.', ({ channel, limit }) => channel === 'webhook' && limit === 'events')
  t.same([late.attemptCount, late.taken.length, well.taken.length], [1, 0, 2])
  answer()
  await notifications.check()
  t.same(
    late.taken.map(({ limit }) => limit),
    ['imports', 'events'],
  )
})

t.test('a pause is an hour at most', async (t) => {
  const world = new World()
  const channel = new TestChannel()
  channel.failure = 'no'
  const notifications = await world.open([channel], { notificationsAttemptsMax: 100 })
  t.teardown(() => notifications.close())
  world.hits.tell(hit)
  await notifications.check()
  for (const minutes of [1, 2, 4, 8, 16, 32, 60, 60]) {
    const before = channel.attemptCount
    world.nowMs += minutes * minuteMs - 1
    await notifications.check()
    t.equal(channel.attemptCount, before, `${minutes} minutes are not over`)
    world.nowMs += 1
    await notifications.check()
    t.equal(channel.attemptCount, before + 1, `${minutes} minutes`)
  }
})

t.test('what waits is sent after a restart, with its attempts, and what was sent is not', async (t) => {
  const world = new World()
  const [failing, well] = [new TestChannel('email'), new TestChannel('webhook')]
  failing.failure = 'no'
  const first = await world.open([failing, well])
  world.hits.tell(hit)
  await first.check()
  await first.close()
  const [email, webhook] = [new TestChannel('email'), new TestChannel('webhook')]
  const second = await world.open([email, webhook])
  t.teardown(() => second.close())
  world.hits.tell(hit)
  await second.check()
  t.equal(email.attemptCount, 0, 'the minute is not over')
  world.nowMs += minuteMs
  await second.check()
  t.match(email.taken, [{ limit: 'imports', level: 'alert' }])
  t.equal(webhook.attemptCount, 0, 'it was told before the restart')
})

t.test('a channel that was taken out of the options is forgotten', async (t) => {
  const world = new World()
  const failing = new TestChannel('email')
  failing.failure = 'no'
  const first = await world.open([failing])
  world.hits.tell(hit)
  await first.check()
  await first.close()
  const webhook = new TestChannel('webhook')
  const second = await world.open([webhook])
  t.teardown(() => second.close())
  world.nowMs += minuteMs
  await second.check()
  t.equal(webhook.attemptCount, 0)
})

t.test('no more than so many wait: one less, exactly, and one more', async (t) => {
  const limits = ['imports', 'events', 'tokens'] as const
  for (const [hitCount, dropped] of [
    [1, 0],
    [2, 0],
    [3, 1],
  ] as const) {
    const world = new World()
    const channel = new TestChannel()
    channel.failure = 'no'
    const notifications = await world.open([channel], { notificationsWaitingMax: 2 })
    t.teardown(() => notifications.close())
    for (const limit of limits.slice(0, hitCount)) world.hits.tell({ ...hit, limit })
    await notifications.check()
    t.match(notifications.counts, [{ waitingCount: hitCount - dropped, droppedCount: dropped }], `${hitCount}`)
  }
})

t.test('a close ends what is under way, which is sent after the restart as if it had not begun', async (t) => {
  const world = new World()
  const channel = new TestChannel()
  channel.held = new Promise(() => {})
  const first = await world.open([channel])
  world.hits.tell(hit)
  const checking = first.check()
  // The look before it writes what is told.
  while (channel.attemptCount === 0) await new Promise((resolve) => setImmediate(resolve))
  await first.close()
  await checking
  const other = new TestChannel()
  const second = await world.open([other])
  t.teardown(() => second.close())
  await second.check()
  t.equal(other.taken.length, 1)
})

t.test('where use cannot be told, refusals are told of all the same; where nothing can be kept, too', async (t) => {
  const world = new World()
  const channel = new TestChannel()
  const notifications = await world.open([channel])
  t.teardown(() => notifications.close())
  world.countsFailure = new Error('the engine is gone')
  world.storage.failure = new Error('the disk is full')
  world.hits.tell(hit)
  await notifications.check()
  t.equal(channel.taken.length, 1)
  await world.log.until('How much of some limits is used is not known; it is asked again.')
  await world.log.until('Notifications could not be kept; a restart may repeat or forget some.')
})

t.test('nobody is told after the close', async (t) => {
  const world = new World()
  const channel = new TestChannel()
  const notifications = await world.open([channel])
  await notifications.close()
  world.hits.tell(hit)
  await notifications.check()
  t.equal(channel.attemptCount, 0)
})
