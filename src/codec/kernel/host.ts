/** What the kernel asks of its host. Offsets are counted from the frame's first byte. */

/** Makes room for at least `rowCount` rows in one column. */
export declare function growColumn(column: i32, rowCount: i32): void
/** Makes room for at least `byteCount` bytes of text in one column. */
export declare function growBytes(column: i32, byteCount: i32): void
/** Makes room for more rows in every column of the plan. */
export declare function growRows(rowCount: i32): void
/** Makes room for at least `byteCount` bytes in the scratch buffer and gives its address. */
export declare function growScratch(byteCount: i32): usize
/** Reads the JSON value at `start` to `end` by the exact path; 0 when it does not fit the column. */
export declare function readValueExactly(position: i32, start: i32, end: i32): i32
/** Reads the CSV cell that begins at `start` by the exact path; gives its end, or -1 when it does not fit the column. */
export declare function readCellExactly(position: i32, start: i32): i32
/** The float that stands at an address, correctly rounded. */
export declare function readLongFloat(at: usize, byteCount: i32): f64
/** Seconds since the epoch of a time in a zone. */
export declare function localToUtcSeconds(zone: i32, localSeconds: f64): f64
/** Whether the bytes from `start` to `end` are UTF-8. */
export declare function isUtf8(start: i32, end: i32): i32
