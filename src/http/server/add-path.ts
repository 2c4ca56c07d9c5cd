import type { FastifyContextConfig, FastifyInstance, RouteHandlerMethod } from 'fastify'
import { errors } from '../../shared/errors/errors.ts'
import type { RouteNeed } from './route-need.ts'

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'] as const
type Method = (typeof methods)[number]

/** What holds for all methods of a path, and what each of them needs of its caller. */
export interface PathConfig<Handled extends Method> extends Omit<FastifyContextConfig, 'needs'> {
  readonly needs: Readonly<Record<Handled, RouteNeed>>
}

/**
 * Registers a path with its methods; all other methods answer METHOD_NOT_ALLOWED (405) with the header Allow, to whoever has a
 * token, and to everybody where no method needs one.
 */
export function addPath<Handled extends Method>(
  app: FastifyInstance,
  url: string,
  handlers: Readonly<Record<Handled, RouteHandlerMethod>>,
  { needs, ...config }: PathConfig<NoInfer<Handled>>,
): void {
  const allowed = methods.filter((method): method is Handled => Object.hasOwn(handlers, method))
  for (const method of allowed) {
    app.route({ method, url, handler: handlers[method], config: { ...config, needs: needs[method] } })
  }
  app.route({
    method: methods.filter((method) => !Object.hasOwn(handlers, method)),
    url,
    handler: (request, reply) => {
      reply.header('allow', [...allowed, 'OPTIONS'].join(', '))
      throw errors.METHOD_NOT_ALLOWED({ method: request.method, allowed })
    },
    config: { needs: allowed.every((method) => needs[method] === 'nothing') ? 'nothing' : 'token' },
  })
}
