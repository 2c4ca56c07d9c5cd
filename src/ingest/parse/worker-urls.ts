/** Where the workers are, and with which command line they start: compiled, or run from source as the parent is. */
const isCompiled = import.meta.url.endsWith('.js')

export const parseWorkerUrl = new URL(`../../../workers/parse.${isCompiled ? 'js' : 'ts'}`, import.meta.url)

/** Compiled workers take a fixed command line, for a parent under test carries loaders that they need not run again. */
export const workerExecArgv: readonly string[] = isCompiled ? ['--enable-source-maps'] : process.execArgv
