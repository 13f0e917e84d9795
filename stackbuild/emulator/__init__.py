"""AMD's code objects on the CPU: decoder, translator to C, and the executor that runs what was translated."""
