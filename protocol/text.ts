// Makes untrusted text safe to show, and gives peers names that people can remember.

/**
 * C0 (except \n and \t), DEL, C1, line separators, lone surrogates and invisible characters: bidi controls,
 * zero-width characters, tags, variation selectors, Hangul fillers, the empty Braille pattern.
 */
const UNSAFE =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\u2800\ufff9-\ufffb\p{Default_Ignorable_Code_Point}\p{Surrogate}]/gu

/** Marks beyond the fourth on one letter. No script needs more; they would cover the lines above and below. */
const STACKED = /(?<=\p{M}{4})\p{M}+/gu

/**
 * Makes untrusted text inert for a terminal or a log: every control, bidi or invisible character becomes `·`, and so do
 * the marks on a letter that has more than four.
 * Newlines and tabs stay, or become spaces if `line` is set. Text longer than `limit` UTF-16 units is cut.
 */
export function safeText(text: string, { limit = 4096, line = false } = {}): string {
  const cut = text.length > limit ? `${text.slice(0, limit)}…` : text
  const inert = cut.replace(UNSAFE, '·').replace(STACKED, '·')
  return line ? inert.replace(/[\n\t]/g, ' ') : inert
}

const ADJECTIVES =
  'amber bold brave brisk calm clear clever cosy crisp dapper deft eager early fair fleet fond gentle glad golden happy hardy jolly keen kind lively loyal lucky mellow merry mild neat nimble noble plucky polite prime proud quick quiet rapid ready rosy royal rustic sharp shy silver sleek smart snug spry steady sunny swift tidy tranquil vivid warm wily wise witty young zesty'.split(
    ' ',
  )
const ANIMALS =
  'badger bee beetle bison crane cricket crow deer dolphin dove eagle egret elk falcon ferret finch fox gecko goose hare hawk hedgehog heron ibex ibis jackal jay kestrel kite koala lark lemur lynx magpie marten mole moose moth newt ocelot orca osprey otter owl panda pelican pika puffin quail rabbit raven robin salmon seal shrew skink sparrow stoat stork swan tapir tern thrush toad trout turtle vole walrus wombat wren yak zebra'.split(
    ' ',
  )

const NAMES = new RegExp(`^(?:${ADJECTIVES.join('|')})-(?:${ANIMALS.join('|')})$`)
/** Whether `peerName` gives this name to some peers. */
export const isPeerName = (text: string): boolean => NAMES.test(text)

/**
 * A stable, memorable name for a peer ID, such as `quick-otter`. Not unique: only the ID identifies a peer.
 */
export function peerName(peerId: string): string {
  let hash = 0x811c9dc5
  for (let i = 0; i < peerId.length; i++) hash = Math.imul(hash ^ peerId.charCodeAt(i), 0x01000193) >>> 0
  hash ^= hash >>> 15
  hash = Math.imul(hash, 0x2c1b3c6d) >>> 0
  // Make it unsigned again: a negative remainder is not a valid index.
  hash = (hash ^ (hash >>> 12)) >>> 0
  const adjective = ADJECTIVES[hash % ADJECTIVES.length]
  const animal = ANIMALS[Math.floor(hash / ADJECTIVES.length) % ANIMALS.length]
  return `${adjective}-${animal}`
}
