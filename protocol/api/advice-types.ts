// One piece of advice.

export interface Advice {
  level: 'attention' | 'hint'
  /** The observation, in one line. */
  text: string
  /** What to do. Text in backquotes is a command without the program's name. */
  action: string
}

export const attention = (text: string, action: string): Advice => ({ level: 'attention', text, action })
export const hint = (text: string, action: string): Advice => ({ level: 'hint', text, action })
