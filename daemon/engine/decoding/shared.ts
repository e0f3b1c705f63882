// Memory with several users, such as prompts that were read together.

/** Each call returns a user's own function, which it may call more than once. `free` is called with the last of them. */
export function sharedBy(users: number, free: () => void): () => () => void {
  let left = users
  return () => {
    let isReleased = false
    return () => {
      if (isReleased) return
      isReleased = true
      left -= 1
      if (left === 0) free()
    }
  }
}
