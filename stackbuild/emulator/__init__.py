"""AMD's code objects on the CPU: decoder, interpreter, translator to C, and the executor that runs what was translated."""
