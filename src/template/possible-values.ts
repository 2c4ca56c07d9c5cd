// Which values an expression of a template may have, whatever a caller sends: all that its own texts and numbers give.
//
// It is computed with the very functions that a rendering calls, over every combination of what its parts may be. A part that
// a caller decides makes the whole open: then there may be other values too. The number of combinations is bounded, and what
// is left out makes the whole open as well.

import { CallArguments, type CallContext } from './functions/function-call.ts'
import { templateFunctions } from './functions/function-table.ts'
import { callMethod } from './functions/methods.ts'
import { typedFunctions } from './functions/typed-functions.ts'
import { Meter } from './meter.ts'
import { applyBinary, applySign, itemsOf, readSlice, readSubscript } from './operators.ts'
import type { CallExpression, Expression, Statement } from './syntax.types.ts'
import { defaultTemplateLimits } from './template.types.ts'
import { TemplateFault } from './template-error.ts'
import { bareValue, DictValue, SequenceValue, SqlText, textOf, type Value } from './values.ts'

/** What something may be. */
export interface PossibleTexts {
  readonly texts: readonly string[]
  /** Whether it may be something else too. */
  readonly isOpen: boolean
}

interface Possible {
  readonly values: readonly Value[]
  readonly isOpen: boolean
}

const anything: Possible = { values: [], isOpen: true }
/** Most values of one expression, most expressions and combinations for one text, those for one template, and how deep they are nested. */
const valuesMax = 64
const stepsMax = 2_000
const allStepsMax = 10_000
const depthMax = 20
const workMax = 20_000
const charactersMax = 20_000

type Assignment = (depth: number) => Possible

export class PossibleValues {
  readonly #assigned = new Map<string, Assignment[]>()
  readonly #open = new Set<string>()
  #stepsLeft = 0
  #allStepsLeft = allStepsMax
  #context: CallContext = newContext()

  constructor(statements: readonly Statement[]) {
    this.#readStatements(statements)
  }

  /** The texts that an expression may be printed as, without quotes. */
  textsOf(expression: Expression): PossibleTexts {
    this.#stepsLeft = Math.min(stepsMax, this.#allStepsLeft)
    const before = this.#stepsLeft
    this.#context = newContext()
    const { values, isOpen } = this.#of(expression, 0)
    this.#allStepsLeft -= before - this.#stepsLeft
    const texts = values.flatMap((value) => {
      if (value === null) return []
      return [value instanceof SqlText ? (value.plain ?? value.sql) : textOf(value)]
    })
    return { texts: [...new Set(texts)], isOpen: isOpen || this.#stepsLeft < 0 }
  }

  #readStatements(statements: readonly Statement[]): void {
    for (const statement of statements) {
      if (statement.kind === 'set') this.#assign(statement.targets, (depth) => this.#of(statement.value, depth))
      if (statement.kind === 'for') this.#assign(statement.targets, (depth) => this.#items(statement.items, depth))
      if (statement.kind === 'if') for (const { body } of statement.branches) this.#readStatements(body)
      if ('body' in statement) this.#readStatements(statement.body)
      if ('handlers' in statement) for (const { body } of statement.handlers) this.#readStatements(body)
      if ('otherwise' in statement) this.#readStatements(statement.otherwise)
      if ('last' in statement) this.#readStatements(statement.last)
    }
  }

  #assign(targets: readonly string[], value: Assignment): void {
    for (const [index, target] of targets.entries()) {
      const one: Assignment =
        targets.length === 1
          ? value
          : (depth) => this.#computed([value(depth)], ([whole]) => this.#itemsOf(whole)[index])
      const known = this.#assigned.get(target) ?? []
      this.#assigned.set(target, [...known, one])
    }
  }

  /** What a loop takes from it. */
  #items(expression: Expression, depth: number): Possible {
    const { values, isOpen } = this.#of(expression, depth)
    return bounded(
      values.flatMap((value) => this.#attempt(() => this.#itemsOf(value)) ?? []),
      isOpen,
    )
  }

  #itemsOf(value: Value | undefined): readonly Value[] {
    return itemsOf(value ?? null, this.#context.meter)
  }

  #of(expression: Expression, depth: number): Possible {
    this.#stepsLeft -= 1
    if (depth > depthMax || this.#stepsLeft < 0) return anything
    const all = (parts: readonly Expression[]): readonly Possible[] => parts.map((part) => this.#of(part, depth + 1))
    switch (expression.kind) {
      case 'literal':
        return { values: [expression.value], isOpen: false }
      case 'name':
        return this.#ofName(expression.name, depth)
      case 'and':
      case 'or':
        return united(all(expression.operands))
      case 'conditional':
        return united(all([expression.then, expression.otherwise]))
      case 'not':
      case 'compare':
        return { values: [true, false], isOpen: false }
      case 'sequence':
        return this.#computed(all(expression.items), (items) => new SequenceValue(expression.type, items))
      case 'dict':
        return this.#computed(all(expression.entries.flat()), (parts) => {
          return new DictValue(expression.entries.map((_, at) => [parts[2 * at] ?? null, parts[2 * at + 1] ?? null]))
        })
      case 'negate':
      case 'plus':
        return this.#computed(all([expression.operand]), ([value = null]) => {
          return applySign(expression.kind === 'negate' ? -1 : 1, value)
        })
      case 'binary':
        return this.#computed(all([expression.left, expression.right]), ([left = null, right = null]) =>
          applyBinary(expression.operator, { left, right }, this.#context.meter),
        )
      case 'subscript':
        return this.#subscript(all([expression.object, expression.index]))
      case 'slice':
        return this.#slice(expression, depth)
      case 'call':
        return this.#call(expression, depth)
      case 'attribute':
        return anything
    }
  }

  /** What it is set to, and what a caller may send in its name. */
  #ofName(name: string, depth: number): Possible {
    // A name that is set by itself grows with each turn of a loop.
    if (this.#open.has(name)) return anything
    this.#open.add(name)
    const given = (this.#assigned.get(name) ?? []).map((assignment) => assignment(depth + 1))
    this.#open.delete(name)
    return united([...given, anything])
  }

  /** Of an index that a caller decides, any element. */
  #subscript([object = anything, index = anything]: readonly Possible[]): Possible {
    const read = this.#computed([object, index], ([one = null, at = null]) => readSubscript(one, at))
    return index.isOpen ? united([read, this.#elements(object)]) : read
  }

  #elements({ values, isOpen }: Possible): Possible {
    const elements = values.flatMap((value) => {
      if (value instanceof DictValue) return Array.from(value.entries.values(), ([, element]) => element)
      return this.#attempt(() => this.#itemsOf(value)) ?? []
    })
    return bounded(elements, isOpen)
  }

  #slice({ object, bounds }: Extract<Expression, { readonly kind: 'slice' }>, depth: number): Possible {
    const none: Possible = { values: [null], isOpen: false }
    const given = bounds.map((bound) => (bound === null ? none : this.#of(bound, depth + 1)))
    return this.#computed([this.#of(object, depth + 1), ...given], ([whole = null, ...places]) =>
      readSlice(whole, places, this.#context.meter),
    )
  }

  #call(call: CallExpression, depth: number): Possible {
    const { callee } = call
    const given = call.arguments.map(({ value }, index) => {
      // The type of an array may be written as a name.
      const isType = index === 1 && value.kind === 'name' && typedFunctions.has(value.name)
      return isType ? { values: [value.name], isOpen: false } : this.#of(value, depth + 1)
    })
    const argumentsOf = (values: readonly Value[]): CallArguments => {
      const placed = call.arguments.map(({ name }, index) => [name, values[index] ?? null] as const)
      const named = placed.flatMap(([name, value]) => (name === null ? [] : [[name, value] as const]))
      return new CallArguments(
        placed.flatMap(([name, value]) => (name === null ? [value] : [])),
        new Map(named),
      )
    }
    if (callee.kind === 'attribute') {
      const object = this.#of(callee.object, depth + 1)
      const results = this.#computed([object, ...given], ([one = null, ...values]) =>
        callMethod({ object: one, name: callee.name }, argumentsOf(values), this.#context),
      )
      const [key] = given
      return callee.name === 'get' && key?.isOpen === true ? united([results, this.#elements(object)]) : results
    }
    const run = callee.kind === 'name' ? templateFunctions.get(callee.name) : undefined
    if (run === undefined) return anything
    const results = this.#computed(given, (values) => run(argumentsOf(values), this.#context))
    const told = given.filter((_, index) => call.arguments[index]?.name === 'enum').map((one) => this.#elements(one))
    return united([results, ...told])
  }

  /** The results over all combinations; what a caller decides is as it is when nothing is sent. */
  #computed(parts: readonly Possible[], compute: (values: readonly Value[]) => Value | undefined): Possible {
    const isOpen = parts.some((part) => part.isOpen)
    const count = parts.reduce((product, { values, isOpen }) => product * (values.length + Number(isOpen)), 1)
    let combinations: readonly (readonly Value[])[] = [[]]
    for (const part of parts) {
      const values = part.isOpen ? [...part.values, null] : part.values
      // No more than are looked at: each of these goes on in some way, unless there is none for this part.
      const started = combinations.slice(0, Math.ceil(valuesMax / Math.max(1, values.length)))
      combinations = started
        .flatMap((combination) => values.map((value) => [...combination, value]))
        .slice(0, valuesMax)
    }
    this.#stepsLeft -= combinations.length
    if (this.#stepsLeft < 0) return anything
    const values = combinations.flatMap((combination) => this.#attempt(() => compute(combination)) ?? [])
    return bounded(values, isOpen || count > valuesMax)
  }

  /** Undefined for what cannot be computed; what takes too long is not tried further. */
  #attempt<Result>(compute: () => Result): Result | undefined {
    try {
      return compute()
    } catch (thrown) {
      if (!(thrown instanceof TemplateFault)) throw thrown
      if (thrown.isFinal) this.#stepsLeft = -1
      return undefined
    }
  }
}

function newContext(): CallContext {
  const limits = { ...defaultTemplateLimits, loopIterationsMax: workMax, renderedCharactersMax: charactersMax }
  return {
    isCheck: false,
    meter: new Meter(limits),
    requiredNames: [],
    settings: { maxThreads: null, cacheTtlSeconds: null, backendHint: null, activated: [], disabled: [] },
    secretSql: () => undefined,
  }
}

function united(parts: readonly Possible[]): Possible {
  return bounded(
    parts.flatMap(({ values }) => values),
    parts.some(({ isOpen }) => isOpen),
  )
}

/** Each value once, as far as it is easily told. */
function bounded(values: readonly Value[], isOpen: boolean): Possible {
  const distinct = new Map(values.map((value) => [keyOf(value), value]))
  return { values: [...distinct.values()].slice(0, valuesMax), isOpen: isOpen || distinct.size > valuesMax }
}

function keyOf(value: Value): unknown {
  const bare = bareValue(value)
  return bare === null || typeof bare !== 'object' ? (bare === value ? bare : value) : value
}
