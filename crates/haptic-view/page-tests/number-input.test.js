/** Numbers typed on the page, without a browser. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseNumber } from '../assets/number-input.js';

test('a number is read as it is written', () => {
    for (const [text, value] of [
        ['350', 350], [' 350.5 ', 350.5], ['.5', 0.5], ['5.', 5], ['1e3', 1000], ['2.5E-1', 0.25], ['-3', -3],
        ['\u22123', -3], ['+4', 4],
    ]) {
        assert.deepEqual(parseNumber(text, '400'), { value }, text);
    }
});

test('a text that is not clearly one number is rejected with the text and a remedy', () => {
    for (const [text, remedy] of [
        ['350,5', 'write 350.5, with a decimal point'], ['0,24', 'write 0.24, with a decimal point'],
        ['1,500', 'such as 400'], ['1.500,5', 'such as 400'], ['1 500', 'such as 400'], ['1\'500', 'such as 400'],
        ['350 N/m', 'such as 400'], ['0x10', 'such as 400'], ['1e999', 'such as 400'], ['NaN', 'such as 400'],
        ['Infinity', 'such as 400'], ['3..5', 'such as 400'], ['', 'such as 400'],
    ]) {
        const read = parseNumber(text, '400');
        assert.ok('problem' in read && read.problem.includes(`“${text}”`) && read.problem.endsWith(remedy), text);
    }
});
