// Text that a plugin puts around a question.

/** Text placed around a question. The node adds no separators: the plugin supplies its own line breaks. */
export interface Rewrite {
  before?: string
  after?: string
  /** The group's arm: `hint`, `skill`, `reflect`, ... Not `base`. */
  arm: string
  /** True if the text was made using `privileged`. The node then checks that it does not reveal the answer. */
  tainted: boolean
  level?: number
  /** The library entries in the text. */
  items?: string[]
}
