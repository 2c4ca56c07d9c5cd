declare const brand: unique symbol

/** A value that only its own parser can make: `Brand<string, 'DataSourceId'>` is no plain string. */
export type Brand<Value, Name extends string> = Value & { readonly [brand]: Name }
