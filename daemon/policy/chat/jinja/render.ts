// Runs a template.

import { Budget, TemplateLimitError } from './budget.ts'
import { FILTERS } from './built-in/filters.ts'
import { globalsOf } from './built-in/globals.ts'
import { TESTS } from './built-in/tests.ts'
import { argumentsOf, call, evaluate, filtered } from './evaluate.ts'
import { fromJson } from './json.ts'
import { runLoop } from './loop.ts'
import { type Ended, Out, type Rendering } from './out.ts'
import { Scope } from './scope.ts'
import { show } from './show.ts'
import type { Body, Signature, Statement, Target } from './syntax/nodes.ts'
import {
  Callable,
  Dict,
  isTrue,
  listOf,
  Namespace,
  Tuple,
  TypeErrorOf,
  typeName,
  type Value,
} from './values.ts'

/**
 * The template's text. `values` are JSON; numbers may be those of JSON.rawJSON. Throws an Error whose message says the
 * line, and TemplateLimitError if the template computes too much.
 */
export function renderTemplate(template: Body, values: Readonly<Record<string, unknown>>): string {
  const budget = new Budget()
  const scope = new Scope(new Scope(undefined, globalsOf(budget)))
  for (const [name, value] of Object.entries(values)) scope.set(name, fromJson(value))
  const out = new Out(budget)
  renderingOf(budget).run(template, scope, out)
  return out.text()
}

function renderingOf(budget: Budget): Rendering {
  const named = <Kind>(table: Record<string, Kind>, what: string, name: string): Kind => {
    if (Object.hasOwn(table, name)) return table[name]!
    throw new TypeErrorOf(`there is no ${what} "${name.slice(0, 40)}", or it is not supported`)
  }
  const rendering: Rendering = {
    budget,
    filter: (name, value, given) => named(FILTERS, 'filter', name)(value, given, rendering, name),
    test: (name, value, given) => named(TESTS, 'test', name)(value, given, rendering, name),
    hasFilter: (name) => Object.hasOwn(FILTERS, name),
    hasTest: (name) => Object.hasOwn(TESTS, name),
    run(body, scope, out) {
      for (const statement of body) {
        budget.step()
        const ended = placed(statement.line, () => runStatement(statement, { scope, out, rendering }))
        if (ended) return ended
      }
      return undefined
    },
    assign: (target, value, scope) => assign(target, value, scope, rendering),
  }
  return rendering
}

const CALL_STEPS = 10

class PlacedError extends Error {}

/** Errors say the line of the innermost statement. */
function placed<Result>(line: number, run: () => Result): Result {
  try {
    return run()
  } catch (cause) {
    if (cause instanceof PlacedError || cause instanceof TemplateLimitError) throw cause
    throw new PlacedError(`${cause instanceof Error ? cause.message : String(cause)} (line ${line})`, {
      cause,
    })
  }
}

interface Where {
  scope: Scope
  out: Out
  rendering: Rendering
}

function runStatement(statement: Statement, where: Where): Ended {
  const { scope, out, rendering } = where
  const { budget } = rendering
  switch (statement.kind) {
    case 'text':
      out.put(statement.text)
      return undefined
    case 'print':
      out.put(show(evaluate(statement.value, scope, rendering), budget))
      return undefined
    case 'set':
      rendering.assign(statement.target, evaluate(statement.value, scope, rendering), scope)
      return undefined
    case 'set-block': {
      const text = captured(statement.body, new Scope(scope), rendering)
      rendering.assign(statement.target, filtered(text, statement.filters, scope, rendering), scope)
      return undefined
    }
    case 'if':
      return rendering.run(
        isTrue(evaluate(statement.test, scope, rendering)) ? statement.body : statement.otherwise,
        scope,
        out,
      )
    case 'for':
      runLoop(statement, where)
      return undefined
    case 'with': {
      const inner = new Scope(scope)
      for (const [target, value] of statement.targets)
        rendering.assign(target, evaluate(value, scope, rendering), inner)
      return rendering.run(statement.body, inner, out)
    }
    case 'macro':
      scope.set(statement.name, macroOf(statement.name, statement, where))
      return undefined
    case 'call-block': {
      const caller = macroOf('caller', statement, where)
      const { callee, args } = statement.call as Extract<typeof statement.call, { kind: 'call' }>
      const given = argumentsOf(args, scope, rendering)
      given.named.set('caller', caller)
      out.put(show(call(evaluate(callee, scope, rendering), given, rendering), budget))
      return undefined
    }
    case 'filter-block': {
      const text = captured(statement.body, new Scope(scope), rendering)
      out.put(show(filtered(text, statement.filters, scope, rendering), budget))
      return undefined
    }
    case 'scope':
      return rendering.run(statement.body, new Scope(scope), out)
    default:
      return statement.kind
  }
}

function captured(body: Body, scope: Scope, rendering: Rendering): string {
  const out = new Out(rendering.budget)
  rendering.run(body, scope, out)
  return out.text()
}

function assign(target: Target, value: Value, scope: Scope, rendering: Rendering): void {
  if (target.kind === 'name') scope.set(target.name, value)
  else if (target.kind === 'member') {
    const namespace = scope.get(target.of)
    if (!(namespace instanceof Namespace))
      throw new TypeErrorOf('cannot assign attribute on non-namespace object')
    rendering.budget.makes(4)
    namespace.members.set(target.name, value)
  } else {
    const values = listOf(value, rendering.budget)
    if (values.length !== target.items.length)
      throw new TypeErrorOf(`${typeName(value)} of ${values.length} values for ${target.items.length} names`)
    for (const [i, one] of target.items.entries()) assign(one, values[i]!, scope, rendering)
  }
}

function macroOf(
  name: string,
  { signature, body }: { signature: Signature; body: Body },
  { scope, rendering }: Where,
): Callable {
  const { parameters, uses } = signature
  return new Callable(name, ({ positional, named }) => {
    rendering.budget.step(CALL_STEPS)
    const inner = new Scope(scope)
    const rest = new Map(named)
    for (const [i, parameter] of parameters.entries()) {
      let value = positional[i]
      if (value === undefined) {
        value = rest.get(parameter.name)
        rest.delete(parameter.name)
      }
      if (value === undefined && parameter.otherwise) value = evaluate(parameter.otherwise, inner, rendering)
      inner.set(parameter.name, value === undefined ? new Scope().get(parameter.name) : value)
    }
    if (uses.has('caller')) {
      inner.set('caller', rest.get('caller') ?? new Scope().get('caller'))
      rest.delete('caller')
    }
    if (uses.has('kwargs')) inner.set('kwargs', new Dict(rest))
    else if (rest.size > 0)
      throw new TypeErrorOf(`macro '${name}' takes no keyword argument '${[...rest.keys()][0]}'`)
    const more = positional.slice(parameters.length)
    if (uses.has('varargs')) inner.set('varargs', new Tuple(more))
    else if (more.length > 0)
      throw new TypeErrorOf(`macro '${name}' takes not more than ${parameters.length} argument(s)`)
    return captured(body, inner, rendering)
  })
}
