//! What every guard says of the tenure that it holds.

/// The methods of a guard that its `tenure` answers.
macro_rules! says_its_tenure {
    () => {
        /// The period of ownership, to be handed to work that must know.
        #[must_use]
        pub fn tenure(&self) -> &$crate::engine::Tenure {
            &self.tenure
        }

        /// The fencing token, if ownership has not ended at this very moment.
        ///
        /// # Errors
        /// [`LeaseLost`](crate::error::LeaseLost) when it has ended.
        pub fn token(&self) -> Result<$crate::model::FencingToken, $crate::error::LeaseLost> {
            self.tenure.token()
        }

        /// How long ownership lasts if no further renewal succeeds.
        #[must_use]
        pub fn remaining(&self) -> std::time::Duration {
            self.tenure.remaining()
        }

        /// Whether ownership has ended.
        #[must_use]
        pub fn is_lost(&self) -> bool {
            self.tenure.is_lost()
        }

        /// Returns when ownership ends, and says why.
        ///
        /// # Cancel safety
        /// Dropping it changes nothing.
        pub async fn lost(&self) -> $crate::error::LeaseLost {
            self.tenure.lost().await
        }

        /// Runs `work` while ownership lasts; drops it at the loss.
        ///
        /// # Errors
        /// [`LeaseLost`](crate::error::LeaseLost) when ownership ended before `work` did.
        ///
        /// # Cancel safety
        /// Dropping it drops `work`; the guard remains.
        pub async fn protect<F: Future>(
            &self,
            work: F,
        ) -> Result<F::Output, $crate::error::LeaseLost> {
            self.tenure.protect(work).await
        }
    };
}

pub(super) use says_its_tenure;
