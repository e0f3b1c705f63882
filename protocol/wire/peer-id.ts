// libp2p peer IDs of Ed25519 keys as text: base58 of an identity multihash of the public key's protobuf. (See libp2p's
// peer ID specification. Other key types exist, but none of them signs on this wire.)

const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
/** Identity multihash (0x00) of 36 bytes; protobuf: key type 1 (Ed25519), 32 bytes of key. */
const PREFIX = [0x00, 0x24, 0x08, 0x01, 0x12, 0x20]

/** `12D3KooW…`, 52 characters. */
export function peerIdOf(publicKey: Uint8Array): string {
  if (publicKey.length !== 32)
    throw new RangeError(`an Ed25519 public key has 32 bytes, not ${publicKey.length}`)
  // From the least digit to the greatest; 38 bytes make at most 52.
  const digits = new Uint8Array(52)
  let count = 0
  for (let at = 0; at < PREFIX.length + 32; at++) {
    let carry = at < PREFIX.length ? PREFIX[at]! : publicKey[at - PREFIX.length]!
    for (let i = 0; i < count; i++) {
      carry += digits[i]! << 8
      digits[i] = carry % 58
      carry = (carry / 58) | 0
    }
    for (; carry > 0; carry = (carry / 58) | 0) digits[count++] = carry % 58
  }
  // The prefix begins with exactly one zero byte, which base58 writes as one `1`.
  let text = '1'
  for (let i = count - 1; i >= 0; i--) text += ALPHABET[digits[i]!]
  return text
}

/** The public key in a peer ID; undefined if the text is not the peer ID of an Ed25519 key. */
export function publicKeyOf(peerId: string): Uint8Array | undefined {
  if (peerId.length !== 52 || peerId[0] !== '1') return undefined
  const bytes: number[] = []
  for (const character of peerId) {
    let carry = ALPHABET.indexOf(character)
    if (carry < 0) return undefined
    for (let i = 0; i < bytes.length; i++) {
      carry += bytes[i]! * 58
      bytes[i] = carry & 255
      carry >>= 8
    }
    for (; carry > 0; carry >>= 8) bytes.push(carry & 255)
  }
  const all = [0, ...bytes.reverse()]
  if (all.length !== 38 || PREFIX.some((byte, i) => all[i] !== byte)) return undefined
  return Uint8Array.from(all.slice(6))
}
