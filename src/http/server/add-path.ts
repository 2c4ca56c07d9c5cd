import type { FastifyContextConfig, FastifyInstance, RouteHandlerMethod } from 'fastify'
import { errors } from '../../shared/errors/errors.ts'

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'] as const
type Method = (typeof methods)[number]

export type PathHandlers = Readonly<Partial<Record<Method, RouteHandlerMethod>>>

/** What a route needs of its caller: nothing at all, or the token that may do everything. */
export type RouteNeed = 'admin' | 'nothing'

/** What holds for all methods of a path; `needs` is told by every route, or it is not registered. */
export type PathConfig = FastifyContextConfig & { readonly needs: RouteNeed }

/** Registers a path with its methods; all other methods answer METHOD_NOT_ALLOWED (405) with the header Allow. */
export function addPath(app: FastifyInstance, url: string, handlers: PathHandlers, config: PathConfig): void {
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
    config: { needs: config.needs },
  })
}
