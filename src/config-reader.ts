// Reads the options out of flags and environment: flag before environment before default. Everything that is wrong is
// told at once, so that nobody has to start the service five times to hear of five mistakes.

import { parseArgs } from 'node:util'
import {
  environmentName,
  environmentPrefix,
  flagName,
  type OptionKey,
  type Options,
  optionKeys,
  optionTable,
} from './config.ts'
import type { DefaultBasis, IntegerOption, OptionDefinition, PlanName, PlanVariant } from './config.types.ts'
import { shortenedText } from './shared/beginning-of.ts'
import { formatBytes, gibibyte, kibibyte, mebibyte } from './shared/bytes.ts'
import { nearestName } from './shared/nearest-name.ts'

export interface OptionSources {
  /** The command line after the program's name. */
  readonly flags: readonly string[]
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly machine: Pick<DefaultBasis, 'coreCount' | 'memoryBytes'>
}

export type OptionReading =
  /** `warnings` are sentences about what was odd and left aside. */
  | { readonly kind: 'options'; readonly options: Options; readonly warnings: readonly string[] }
  | { readonly kind: 'help' }
  | { readonly kind: 'version' }
  /** Sentences, one a mistake. */
  | { readonly kind: 'wrong'; readonly problems: readonly string[] }

/** Reads all options. An empty variable counts as unset; an unknown `MILLRACE_…` variable is a warning, a flag a problem. */
export function readOptions({ flags, environment, machine }: OptionSources): OptionReading {
  const given = readFlags(flags)
  if (given.asked !== undefined) return { kind: given.asked }
  const problems = [...given.problems]
  const values = new Map<OptionKey, OptionText>()
  for (const key of optionKeys) {
    const flag = given.texts.get(key)
    const variable = environment[environmentName(key)]
    const definition: OptionDefinition = optionTable[key]
    const verdict = flag === undefined && !variable ? undefined : parseValue(definition, flag ?? variable ?? '')
    if (verdict !== undefined && 'problem' in verdict) {
      problems.push(`${flag === undefined ? environmentName(key) : `--${flagName(key)}`} ${verdict.problem}.`)
    }
    values.set(
      key,
      verdict !== undefined && 'value' in verdict ? verdict.value : defaultOf(definition, basisOf(machine, values)),
    )
  }
  if (problems.length > 0) return { kind: 'wrong', problems }
  // Every key of the table has been set above, to a value of its definition's kind.
  const options = Object.fromEntries(values) as unknown as Options
  return { kind: 'options', options, warnings: unknownVariables(environment) }
}

type OptionText = boolean | number | string | undefined

/** What defaults hang on: the machine, and options that stand before theirs. */
function basisOf(machine: OptionSources['machine'], values: ReadonlyMap<OptionKey, OptionText>): DefaultBasis {
  const workers = values.get('workers')
  // Each was parsed as one of its choices; before that no default asks for it.
  const plan = (values.get('plan') ?? 'unlimited') as PlanName
  const planVariant = (values.get('planVariant') ?? 'a') as PlanVariant
  return { ...machine, plan, planVariant, workerCount: typeof workers === 'number' ? workers : machine.coreCount }
}

interface GivenFlags {
  readonly asked: 'help' | 'version' | undefined
  readonly texts: ReadonlyMap<OptionKey, string>
  readonly problems: readonly string[]
}

const keyByFlag = new Map(optionKeys.map((key) => [flagName(key), key]))

function readFlags(flags: readonly string[]): GivenFlags {
  const { tokens } = parseArgs({
    args: [...flags],
    options: Object.fromEntries(
      optionKeys.map((key) => [flagName(key), { type: isSwitch(key) ? 'boolean' : 'string' }]),
    ),
    strict: false,
    tokens: true,
  })
  const texts = new Map<OptionKey, string>()
  const problems: string[] = []
  let asked: GivenFlags['asked']
  // The word after an unknown flag is taken for its value, so that one mistake is told once.
  let unknownFlagIndex = -2
  let lastSwitch: { readonly name: string; readonly index: number } | null = null
  for (const token of tokens) {
    if (token.kind === 'positional' && token.index !== unknownFlagIndex + 1) {
      const switchName: string | null = lastSwitch?.index === token.index - 1 ? lastSwitch.name : null
      problems.push(problemOfWord(token.value, switchName))
    }
    if (token.kind !== 'option') continue
    const key = keyByFlag.get(token.name)
    if (token.name === 'help' || token.name === 'h') asked ??= 'help'
    else if (token.name === 'version' || token.name === 'v') asked ??= 'version'
    else if (key === undefined) {
      problems.push(problemOfUnknown(token))
      unknownFlagIndex = token.index
    } else if (token.value === undefined && isSwitch(key)) {
      texts.set(key, 'true')
      lastSwitch = { name: token.rawName, index: token.index }
    } else if (token.value === undefined) problems.push(`${token.rawName} has no value; ${valueHintOf(token.rawName)}.`)
    else {
      const flag = token.inlineValue ? null : knownFlagIn(token.value)
      if (flag === null) texts.set(key, token.value)
      else problems.push(`${token.rawName} has no value, as ${flag} is an option; ${valueHintOf(token.rawName)}.`)
    }
  }
  return { asked, texts, problems }
}

/** @param switchName of the switch in front of the word; null where there is none. */
function problemOfWord(word: string, switchName: string | null): string {
  const isOn = switchValueOf(word)
  if (switchName === null || isOn === null)
    return `${positionalText(word)} is not an option; options look like --port 7181.`
  const remedy = isOn ? `write ${switchName} alone` : 'leave it out to turn it off'
  return `${switchName} takes no value behind a space; ${remedy}, or write ${switchName}=${isOn}.`
}

function problemOfUnknown({ name, rawName }: { readonly name: string; readonly rawName: string }): string {
  const key = keyByFlag.get(name.replace(/^no-/, ''))
  if (key !== undefined && isSwitch(key)) {
    return `${rawName} is no option; to turn --${flagName(key)} off, leave it out, or write --${flagName(key)}=false.`
  }
  return `${shown(rawName)} is no option${hintOf(nearestFlag(name))}; --help lists them.`
}

/** `--data-dir --http2` is a value that was forgotten, and no directory of that name. The flag alone: its value may be a secret. */
function knownFlagIn(text: string): string | null {
  const [flag = ''] = text.split('=', 1)
  return flag.startsWith('--') && keyByFlag.has(flag.slice(2)) ? flag : null
}

function valueHintOf(flag: string): string {
  return `write ${flag}=<value>`
}

function isSwitch(key: OptionKey): boolean {
  return optionTable[key].kind === 'switch'
}

function nearestFlag(name: string): string | undefined {
  const nearest = nearestName(name.toLowerCase().replaceAll('_', '-'), [...keyByFlag.keys(), 'help', 'version'])
  return nearest === undefined ? undefined : `--${nearest}`
}

function hintOf(nearest: string | undefined): string {
  return nearest === undefined ? '' : ` (did you mean ${nearest}?)`
}

/** The word itself where it can be no token: what is told here may end in a log that others read. */
function positionalText(word: string): string {
  return /^[\w-]{1,7}$/.test(word) ? `"${word}"` : `A word of ${word.length} characters`
}

const nameCharsMax = 100

function shown(name: string): string {
  return shortenedText(name, nameCharsMax)
}

type ValueVerdict = { readonly value: boolean | number | string } | { readonly problem: string }

function parseValue(definition: OptionDefinition, text: string): ValueVerdict {
  switch (definition.kind) {
    case 'integer':
      return parseInteger(definition, text)
    case 'text':
      return definition.pattern.test(text)
        ? { value: text }
        : { problem: `is "${text}", but must be ${definition.expected}` }
    case 'secret':
      // The text is not repeated: the problem may end in a log that others read.
      return definition.pattern.test(text) ? { value: text } : { problem: `must be ${definition.expected}` }
    case 'choice':
      return definition.choices.includes(text)
        ? { value: text }
        : {
            problem: `is "${text}", but must be one of ${definition.choices.join(', ')}${hintOf(nearestName(text.toLowerCase(), definition.choices))}`,
          }
    case 'switch':
      return parseSwitch(text)
  }
}

function parseSwitch(text: string): ValueVerdict {
  const value = switchValueOf(text)
  return value === null ? { problem: `is "${text}", but must be true or false` } : { value }
}

/** Null for a word that is neither. */
function switchValueOf(text: string): boolean | null {
  const word = text.trim().toLowerCase()
  if (['true', '1', 'yes', 'on'].includes(word)) return true
  return ['false', '0', 'no', 'off'].includes(word) ? false : null
}

const byteSuffixes: Readonly<Record<string, number>> = {
  B: 1,
  KB: 1_000,
  MB: 1_000_000,
  GB: 1_000_000_000,
  KiB: kibibyte,
  MiB: mebibyte,
  GiB: gibibyte,
}

function parseInteger({ unit, min, max }: IntegerOption, text: string): ValueVerdict {
  const isBytes = unit === 'bytes'
  const [, digits, suffix = ''] = /^(\d{1,16})\s?([A-Za-z]*)$/.exec(text.trim()) ?? []
  const factor = suffix === '' ? 1 : isBytes ? byteSuffixes[suffix] : undefined
  if (digits === undefined || factor === undefined) {
    return { problem: `is "${text}", but must be a whole number${isBytes ? ', such as 1048576, 64MiB or 10MB' : ''}` }
  }
  const value = Number(digits) * factor
  const shown = isBytes ? formatBytes : String
  if (value >= min && value <= max) return { value }
  return { problem: `is ${text.trim()}, but must be from ${shown(min)} to ${shown(max)}` }
}

function defaultOf(definition: OptionDefinition, basis: DefaultBasis): OptionText {
  switch (definition.kind) {
    case 'secret':
      return undefined
    case 'switch':
      return false
    case 'text':
    case 'choice':
      return definition.default
    case 'integer':
      return typeof definition.default === 'number'
        ? definition.default
        : derivedDefault(definition, definition.default.from(basis))
  }
}

// A machine with 96 cores still gets no more workers than the table allows.
function derivedDefault({ min, max }: IntegerOption, wanted: number): number {
  return Math.min(max, Math.max(min, wanted))
}

/** More of them are counted, not told one by one. */
const unknownVariablesMax = 20

function unknownVariables(environment: OptionSources['environment']): readonly string[] {
  const known = new Set(optionKeys.map(environmentName))
  const names = Object.keys(environment).filter((name) => isOurs(name) && !known.has(name))
  const told = names.slice(0, unknownVariablesMax).map((name) => {
    const nearest = nearestName(name.toUpperCase(), known)
    return `The environment variable ${shown(name)} is not an option and was ignored${hintOf(nearest)}; --help lists them.`
  })
  const leftCount = names.length - told.length
  return leftCount === 0
    ? told
    : [...told, `${leftCount} further environment variables ${environmentPrefix}… are not options.`]
}

// `millrace_port` is a slip too: names are told apart by case.
function isOurs(name: string): boolean {
  return name.toUpperCase().startsWith(environmentPrefix)
}
