// Requests are counted by hooks of their routes, each with the counters of its route in hand: nothing is looked up for one.

import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { Pipe } from '../../catalog/pipe.types.ts'
import type { Recorder, RouteCounts } from '../../metrics/recorder.ts'
import { answeredError } from '../json/answers.ts'
import { routePattern } from './route-pattern.ts'

interface CountDeps {
  readonly recorder: Recorder
  readonly findPipe: (nameOrId: string) => Pick<Pipe, 'id'> | undefined
}

type OnResponse = (request: FastifyRequest, reply: FastifyReply, done: () => void) => void

/** Counts the requests of all routes of `app` that are registered after it, and of paths that have none. */
export function addRequestCounts(app: FastifyInstance, { recorder, findPipe }: CountDeps): void {
  const count = (counts: RouteCounts, reply: FastifyReply): void => {
    const { statusCode } = reply
    counts.note(statusCode, reply.elapsedTime)
    if (statusCode < 400) return
    const error = answeredError(reply)
    if (error !== undefined) recorder.errors.add(error.code)
  }
  app.addHook('onRoute', (route) => {
    const counts = recorder.addRoute(methodOf(route), routePattern(route.url))
    const hooks: OnResponse[] = [
      (_request, reply, done) => {
        count(counts, reply)
        done()
      },
    ]
    if (route.config?.isEndpoint === true) hooks.push(endpointHook({ recorder, findPipe }))
    route.onResponse = hooks
  })
  app.addHook('onResponse', (request, reply, done) => {
    if (request.is404) count(recorder.unmatched, reply)
    done()
  })
}

function endpointHook({ recorder, findPipe }: CountDeps): OnResponse {
  return ({ params }, reply, done) => {
    // Fastify's router gives a text for each parameter of the route.
    const pipe = findPipe((params as Readonly<Record<string, string>>)['pipe'] ?? '')
    // A name that there is not makes no series.
    if (pipe !== undefined) recorder.endpoints.of(pipe.id).note(reply.statusCode, reply.elapsedTime)
    done()
  }
}

/** All methods that a path refuses are one route. */
function methodOf({ method }: RouteOptions): string {
  return typeof method === 'string' ? method : 'other'
}
