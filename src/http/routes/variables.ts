import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Variable, VariableValue } from '../../catalog/variable.types.ts'
import { errors } from '../../shared/errors/errors.ts'
import type { FormLimits, HttpDeps } from '../http.types.ts'
import { sendJson } from '../json/answers.ts'
import { readChangeParameters } from '../request/change-parameters.ts'
import type { Parameters } from '../request/parameters.ts'
import { addPath } from '../server/add-path.ts'
import { callerOf, judgeAgain } from '../server/authorization.ts'
import { countRequest } from '../server/count-request.ts'
import { onPath, onWorkspace } from '../server/route-need.ts'

type Deps = Pick<HttpDeps, 'rates' | 'variables'>

/** `/v0/variables`: the secrets that templates read. No answer ever has a value. */
export function addVariables(app: FastifyInstance, deps: Deps, limits: FormLimits): void {
  const { rates, variables } = deps
  const readParameters = async (request: FastifyRequest, reply: FastifyReply): Promise<Parameters> => {
    const parameters = await readChangeParameters(request, limits)
    judgeAgain(request)
    countRequest(reply, rates.secretRequests)
    return parameters
  }
  const list = {
    GET: async (_request: FastifyRequest, reply: FastifyReply) => {
      countRequest(reply, rates.secretRequests)
      return sendJson(reply, 200, { variables: variables.list().map(shape) })
    },
    POST: async (request: FastifyRequest, reply: FastifyReply) => {
      const parameters = await readParameters(request, reply)
      parameters.choice('type', ['secret'])
      return sendJson(
        reply,
        200,
        shape(await variables.create(parameters.requiredName(), newValue(request, parameters))),
      )
    },
  }
  const single = {
    GET: async (request: FastifyRequest, reply: FastifyReply) => {
      countRequest(reply, rates.secretRequests)
      const variable = variables.find(nameOf(request))
      if (variable === undefined) throw errors.VARIABLE_NOT_FOUND({ isRead: true })
      return sendJson(reply, 200, shape(variable))
    },
    PUT: async (request: FastifyRequest, reply: FastifyReply) => {
      const parameters = await readParameters(request, reply)
      const name = nameOf(request)
      if (variables.find(name) === undefined) throw errors.VARIABLE_NOT_FOUND({ isRead: false })
      return sendJson(reply, 200, shape(await variables.update(name, newValue(request, parameters))))
    },
    DELETE: async (request: FastifyRequest, reply: FastifyReply) => {
      await readParameters(request, reply)
      await variables.remove(nameOf(request))
      return sendJson(reply, 200, { ok: true })
    },
  }
  addPath(app, '/v0/variables', list, {
    needs: { GET: onWorkspace('variable:read'), POST: onWorkspace('variable:change') },
    mayTakeTokenFromBody: true,
  })
  addPath(app, '/v0/variables/:name', single, {
    needs: {
      GET: onPath('variable:read', 'name'),
      PUT: onPath('variable:change', 'name'),
      DELETE: onPath('variable:change', 'name'),
    },
    mayTakeTokenFromBody: true,
  })
}

function nameOf(request: FastifyRequest): string {
  // The route has this parameter, and Fastify gives texts.
  return (request.params as { readonly name: string }).name
}

/** @throws VALUE_MISSING (400) */
function newValue(request: FastifyRequest, parameters: Parameters): VariableValue {
  const value = parameters.get('value')
  if (value === undefined) throw errors.VALUE_MISSING()
  return { value, editedBy: `token: '${callerOf(request).tokenName}'` }
}

function shape({ name, type, createdAt, updatedAt, editedBy }: Variable): object {
  return { name, type, created_at: isoTime(createdAt), updated_at: isoTime(updatedAt), edited_by: editedBy }
}

/** UTC in whole seconds and without a zone: older readers of ISO times know no Z. */
function isoTime(epochMs: number): string {
  return new Date(epochMs).toISOString().slice(0, 19)
}
