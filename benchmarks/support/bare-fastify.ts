import Fastify from 'fastify'
import { serveFunctions } from './remote-functions.ts'

/**
 * The least that a service on Fastify could do with events: read the body, answer 202 with the bytes of an answer. What
 * remains between its requests per second and ours is the price of everything that we do.
 */
const answer = Buffer.from('{"successful_rows":1,"quarantined_rows":0}')

const functions = { listen }
export type BareFastify = typeof functions
serveFunctions(functions)

/** Gives the address. */
async function listen(_nothing: null): Promise<string> {
  const app = Fastify({ bodyLimit: 16 * 1024 * 1024 })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  app.post('/v0/events', async (_request, reply) =>
    reply.code(202).header('content-type', 'application/json').send(answer),
  )
  const listening: Promise<string> = app.listen({ host: '127.0.0.1', port: 0 })
  return await listening
}
