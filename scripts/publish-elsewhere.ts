/** Refuses `npm publish` in this folder: its README and manifest are those of a checkout. */
console.error("npm publish: publish the package that `npm run package` makes; the release workflow does");
process.exitCode = 1;
