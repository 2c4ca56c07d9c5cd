import type { FastifyContextConfig, FastifyInstance, RouteHandlerMethod } from 'fastify'
import { errors } from '../shared/errors.ts'

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'] as const
type Method = (typeof methods)[number]

/** Registers a path with its methods; all other methods answer METHOD_NOT_ALLOWED (405) with the header Allow. */
export function addPath(
  app: FastifyInstance,
  url: string,
  handlers: Readonly<Partial<Record<Method, RouteHandlerMethod>>>,
  config: FastifyContextConfig = {},
): void {
  const allowed: Method[] = []
  for (const method of methods) {
    const handler = handlers[method]
    if (handler === undefined) continue
    allowed.push(method)
    app.route({ method, url, handler, config })
  }
  const refused = methods.filter((method) => !allowed.includes(method))
  app.route({
    method: refused,
    url,
    handler: (request, reply) => {
      reply.header('allow', [...allowed, 'OPTIONS'].join(', '))
      throw errors.METHOD_NOT_ALLOWED({ method: request.method, allowed })
    },
  })
}
