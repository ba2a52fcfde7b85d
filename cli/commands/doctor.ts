import type { DefineCommand } from "../command.ts";
import { EXIT } from "../exit-code.ts";

export const doctorCommand: DefineCommand = (program, _surroundings, finish) => {
  program.command("doctor").action(async () => {
    finish(EXIT.done);
  });
};
