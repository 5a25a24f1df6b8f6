-- What a run held is its length without the time in which its GPUs were given back.

ALTER TABLE runs
    ADD COLUMN IF NOT EXISTS `released` Array(Array(Int64))
    COMMENT 'pauses that gave the GPUs back: [from, until), epoch seconds; a far future while one lasts'
    AFTER `flags`;
