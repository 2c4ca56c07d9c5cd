/** What stands in the place of a caller's value while a node is checked, where it may be any text. */
export const noValueText = '__no_value__'
