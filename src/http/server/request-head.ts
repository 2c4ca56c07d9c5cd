import type { FastifyInstance } from 'fastify'
import { errors } from '../../shared/errors/errors.ts'
import { hostPattern } from './host-form.ts'

/**
 * Refuses what the head of a request may not have, before anything is made of it: a Host that is missing or is none (it goes
 * into addresses that we tell), and a Transfer-Encoding that we would not undo.
 *
 * @throws REQUEST_INVALID (400), as RFC 9112 §3.2 and §6.1 ask for; EXPECTATION_UNKNOWN (417).
 */
export function addRequestHead(app: FastifyInstance): void {
  app.decorateRequest('sentParameters', null)
  app.addHook('onRequest', ({ raw: { headers, httpVersion } }, _reply, done) => {
    const { host, expect, 'transfer-encoding': transferEncoding } = headers
    if (host === undefined && httpVersion === '1.1') throw errors.REQUEST_INVALID({ reason: 'it has no header Host' })
    if (host !== undefined && !hostPattern.test(host))
      throw errors.REQUEST_INVALID({ reason: 'its header Host is not a name or address with a port' })
    // What HTTP/1.0 expects is passed by (RFC 9110 §10.1.1).
    if (expect !== undefined && httpVersion !== '1.0' && !knownExpectation.test(expect))
      throw errors.EXPECTATION_UNKNOWN()
    if (transferEncoding !== undefined && transferEncoding.trim().toLowerCase() !== 'chunked') {
      const reason = 'its Transfer-Encoding is not "chunked"; name a compression of the body in Content-Encoding'
      throw errors.REQUEST_INVALID({ reason })
    }
    done()
  })
}

/** As Node reads it of HTTP/1.1. */
export const knownExpectation = /(?:^|\W)100-continue(?:$|\W)/i
