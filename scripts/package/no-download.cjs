// npm up to 11 runs the install script of onnxruntime-node, which on Linux x64 downloads CUDA files of some hundred
// megabytes from outside the registry and fails the whole install if it cannot. A node on the CPU needs none of them, and
// `waggle device install` gets them where they are wanted. npm runs the `preinstall` of every package before the
// `postinstall` of any, so this empties that script's list. Whoever asks for the download by its own setting gets it.

const { readFileSync, renameSync, writeFileSync } = require('node:fs')

const NOTHING = '\nmodule.exports.requirements = {};\n'
const isAsked = Object.keys(process.env).some((name) => /^(npm_config_)?onnxruntime_node_install/i.test(name))
try {
  const list = require.resolve('onnxruntime-node/script/install-metadata.js')
  const text = readFileSync(list, 'utf8')
  if (!isAsked && !text.endsWith(NOTHING)) {
    // A new file, since some package managers link to files that other projects share.
    writeFileSync(`${list}.new`, text + NOTHING)
    renameSync(`${list}.new`, list)
  }
} catch {
  // Not where npm puts it: its script then does what it always does.
}
