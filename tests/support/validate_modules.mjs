// Reads every .wasm file of a folder with Binaryen, and the text of the same module in the .wat file beside it, which
// must be the same to the last byte; prints what is wrong, then how much the optimiser makes the modules smaller. Usage: node validate_modules.mjs FOLDER
import fs from 'node:fs';
import path from 'node:path';
import binaryen from 'binaryen';

const { MVP, SIMD128, RelaxedSIMD, MutableGlobals, NontrappingFPToInt } = binaryen.Features;
const features = MVP | SIMD128 | RelaxedSIMD | MutableGlobals | NontrappingFPToInt;
binaryen.setOptimizeLevel(3);
binaryen.setShrinkLevel(0);
let wrong = 0;
let before = 0;
let after = 0;
let texts = 0;
for (const file of fs.readdirSync(process.argv[2]).filter((name) => name.endsWith('.wasm')).sort()) {
  const bytes = fs.readFileSync(path.join(process.argv[2], file));
  try {
    const module = binaryen.readBinary(bytes);
    module.setFeatures(features);
    if (!module.validate()) throw new Error('not valid');
    const text = path.join(process.argv[2], file.replace(/wasm$/, 'wat'));
    if (fs.existsSync(text)) {
      const parsed = binaryen.parseText(fs.readFileSync(text, 'utf8'));
      parsed.setFeatures(features);
      if (!parsed.validate()) throw new Error('its text is not valid');
      if (!Buffer.from(parsed.emitBinary()).equals(Buffer.from(module.emitBinary()))) throw new Error('its text differs');
      parsed.dispose();
      texts++;
    }
    if (file.startsWith('optimise')) {
      before += bytes.length;
      module.optimize();
      after += module.emitBinary().length;
    }
    module.dispose();
  } catch (error) {
    wrong++;
    console.log(`${file}: ${error.message ?? error}`);
  }
}
console.log(`texts ${texts}`);
if (after > 0) console.log(`size ${(after / before).toFixed(3)}`);
process.exit(wrong > 0 ? 1 : 0);
