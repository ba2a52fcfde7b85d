#!/usr/bin/env node
// The `ptc` command: every way to start ptc goes through this file, which loads the rest only where Node.js has what ptc uses.
// A Node.js that is too old must be able to read it, so it imports nothing, and is written as Node.js 10 reads a script and later
// ones read a module. The oldest version is the first with node:sqlite and without a flag; `engines` in package.json names it too.
((node, said) => {
  var isOld = node[0] < 22 || (node[0] === 22 && node[1] < 13);
  // Of 23, the first few lack it, as do builds and options that leave it out.
  if (!isOld && process.getBuiltinModule("module").isBuiltin("node:sqlite")) {
    // What Node.js itself ends with where a program waits for nothing. ptc always ends with a code of its own.
    process.exitCode = 13;
    import("./start.js");
    return;
  }
  process.exitCode = 2;
  process.stderr.write(
    `ptc: needs Node.js 22.13 or newer, and this is ${said}${isOld ? "" : ", without node:sqlite"} (${process.execPath}): ` +
      "install a current one from https://nodejs.org/ and put it first on the PATH\n",
  );
})(process.versions.node.split(".").map(Number), process.version);
