-- Let the views show another generation; there is always one before it.
INSERT INTO generations SELECT {generation:String}, max(revision) + 1 FROM generations
