// Separates the answers in an episode's text. It is removed from the answers themselves.

export const TURN_MARK = '\u241e'
