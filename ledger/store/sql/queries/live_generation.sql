-- The generation the views show.
SELECT argMax(generation, revision) FROM generations
