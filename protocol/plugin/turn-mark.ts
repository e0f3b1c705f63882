// Stands between the answers of an episode's text, and is taken out of the answers themselves.

export const TURN_MARK = '\u241e'
