// Types for the CRC-32C part of `crc-32`, which has none.
declare module 'crc-32/crc32c.js' {
  const crc32c: { buf(data: Uint8Array, seed?: number): number }
  export default crc32c
}
